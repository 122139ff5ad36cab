// A simulated GPU with mdevs. Its two types share one pool, like those of the kernel's mtty
// sample: an mdev of one type reduces what is left for the other.

import * as z from 'zod';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/inventory-report.ts';
import type { Driver, MakesMdevs, Mdev } from './driver.ts';
import { errorOf, type FakeHardwareDeps, openFakeHardware } from './fake-hardware.ts';

const address = '0000:0e:00.0';
const poolSize = 4;
/** Parts of the pool that one mdev of the type takes. */
const sizes: Readonly<Record<string, number>> = { 'fake-1': 1, 'fake-2': 2 };

const form = z.object({
  mdevs: z.array(z.object({ address: z.string(), type: z.string(), uuid: z.string() })),
});
type State = z.infer<typeof form>;

export function createFakeGpuDriver(deps: FakeHardwareDeps): Driver & MakesMdevs {
  const hardware = openFakeHardware<State>(deps, 'gpu', form, { mdevs: [] });
  return {
    name: 'fake_gpu',
    discover: async () => {
      await hardware.touch('discover');
      return { [address]: describe(hardware.read()) };
    },
    listMdevs: async () => hardware.read().mdevs,
    createMdev: (mdev) => hardware.operate('create-mdev', (before) => withMdev(before, mdev)),
    removeMdev: (mdev) => hardware.operate('remove-mdev', (before) => withoutMdev(before, mdev)),
  };
}

/** Refuses as the kernel and mtty do. */
function withMdev({ mdevs }: State, mdev: Mdev): State {
  const size = sizes[mdev.type];
  if (mdev.address !== address || size === undefined) throw errorOf('ENOENT', 'create-mdev');
  if (mdevs.some(({ uuid }) => uuid === mdev.uuid)) throw errorOf('EEXIST', 'create-mdev');
  if (freeOf(mdevs) < size) throw errorOf('ENOSPC', 'create-mdev');
  return { mdevs: [...mdevs, mdev] };
}

function withoutMdev({ mdevs }: State, mdev: Mdev): State {
  const left = mdevs.filter(({ uuid }) => uuid !== mdev.uuid);
  if (left.length === mdevs.length) throw errorOf('ENODEV', 'remove-mdev');
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
  const created = mdevs.filter((mdev) => mdev.type === type).length;
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
    })),
  };
}
