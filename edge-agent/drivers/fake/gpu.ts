// A simulated GPU with mdevs. Its two types share one pool, like those of the kernel's mtty
// sample: an mdev of one type reduces what is left for the other.

import * as z from 'zod';
import type { Driver, Found, HandleWork } from '#agent/drivers/contract/driver.ts';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/report/inventory-report.ts';
import { errorOf, type FakeHardwareDeps, openFakeHardware } from './hardware.ts';

const address = '0000:0e:00.0';
const poolSize = 4;
/** Parts of the pool that one mdev of the type takes. */
const sizes: Readonly<Record<string, number>> = { 'fake-1': 1, 'fake-2': 2 };

const mdev = z.object({ address: z.string(), type: z.string(), uuid: z.string() });
type Mdev = z.infer<typeof mdev>;
const form = z.object({ mdevs: z.array(mdev) });
type State = z.infer<typeof form>;

export function createFakeGpuDriver(deps: FakeHardwareDeps): Driver {
  const hardware = openFakeHardware<State>(deps, 'gpu', form, { mdevs: [] });
  return {
    name: 'fake_gpu',
    discover: async () => {
      await hardware.touch('discover');
      return { devices: { [address]: describe(hardware.read()) } };
    },
    find: async (handle) => foundIn(hardware.read(), mdevOf(handle)),
    prepare: async (handle) => {
      await hardware.operate('prepare', (before) => withMdev(before, mdevOf(handle)));
      return {};
    },
    clean: async (handle) => {
      await hardware.operate('clean', (before) => withoutMdev(before, mdevOf(handle)));
      return { removed: handle.uuid };
    },
  };
}

function mdevOf({ address: parent, uuid, info }: HandleWork): Mdev {
  return { address: parent, type: info.asked_type ?? '', uuid };
}

function foundIn({ mdevs }: State, wanted: Mdev): Found {
  const found = mdevs.find(({ uuid }) => uuid === wanted.uuid);
  if (!found) return { state: 'absent' };
  const isSame = found.type === wanted.type && found.address === wanted.address;
  return isSame
    ? { state: 'ready' }
    : { state: 'other', what: `an mdev of type ${found.type} on ${found.address}` };
}

/** Refuses as the kernel and mtty do. */
function withMdev({ mdevs }: State, wanted: Mdev): State {
  const size = sizes[wanted.type];
  if (wanted.address !== address || size === undefined) throw errorOf('ENOENT', 'prepare');
  if (mdevs.some(({ uuid }) => uuid === wanted.uuid)) throw errorOf('EEXIST', 'prepare');
  if (freeOf(mdevs) < size) throw errorOf('ENOSPC', 'prepare');
  return { mdevs: [...mdevs, wanted] };
}

function withoutMdev({ mdevs }: State, { uuid: unwanted }: Mdev): State {
  const left = mdevs.filter(({ uuid }) => uuid !== unwanted);
  if (left.length === mdevs.length) throw errorOf('ENODEV', 'clean');
  return { mdevs: left };
}

function freeOf(mdevs: readonly Mdev[]): number {
  return mdevs.reduce((free, { type }) => free - (sizes[type] ?? 0), poolSize);
}

function describe({ mdevs }: State): ReportedDevice {
  return {
    address,
    driver: 'fake_gpu',
    type: 'GPU',
    vendor: '0xABCD',
    product: '0x9b01',
    model: 'fake GPU',
    std_board_info: '{"product_id": "0x9b01", "class": "Fake class"}',
    vendor_board_info: 'fake_vendor_info',
    regions: Object.keys(sizes).map((type) => regionOf(type, mdevs)),
  };
}

/** Offers existing mdevs of the type, and those that can still be created. */
function regionOf(type: string, mdevs: readonly Mdev[]): ReportedRegion {
  const created = mdevs.filter((each) => each.type === type).length;
  const count = created + Math.floor(freeOf(mdevs) / (sizes[type] ?? 1));
  return {
    name: type,
    kind: 'mdev-type',
    resource_class: 'VGPU',
    // CUSTOM_<VENDOR>_<PRODUCT>_<TYPE>, as in Nova's specification of vGPUs.
    traits: [`CUSTOM_ABCD_9B01_${type.toUpperCase().replaceAll('-', '_')}`],
    num_accelerators: count,
    attach_handles: Array.from({ length: count }, (_, index) => ({
      type: 'MDEV',
      info: {
        domain: '0000',
        bus: '0e',
        device: '00',
        function: '0',
        asked_type: type,
        vgpu_mark: `${type}_${index}`,
      },
      prepare: 'at-bind',
      clean_seconds: 300,
    })),
  };
}
