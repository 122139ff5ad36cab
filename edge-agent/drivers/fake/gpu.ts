// A simulated GPU with mdevs, and with firmware that can be programmed. Its two types share one
// pool, like those of the kernel's mtty sample: an mdev of one type reduces what is left for the
// other.

import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import type { Components, Driver, Found, HandleWork } from '#agent/drivers/contract/driver.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/report/inventory-report.ts';
import { type FakeHardwareDeps, openFakeHardware, toError } from './hardware.ts';

const address = '0000:0e:00.0';
const poolSize = 4;
/** Parts of the pool that one mdev of the type takes. */
const sizes: Readonly<Record<string, number>> = { 'fake-1': 1, 'fake-2': 2 };

const mdev = z.object({ address: z.string(), type: z.string(), uuid: z.string() });
type Mdev = z.infer<typeof mdev>;
const form = z.object({ mdevs: z.array(mdev) });
type State = z.infer<typeof form>;

const component = 'bios';
/** What the component runs, and what a write has left for the next activation. */
const flashForm = z.object({ running: z.string(), written: z.string().optional() });
/** The place of a boot id: flash memory keeps its content through each boot. */
const anyBoot = 'any';

export function createFakeGpuDriver(deps: FakeHardwareDeps): Driver {
  const hardware = openFakeHardware<State>(deps, 'gpu', form, { mdevs: [] });
  return {
    name: 'fake_gpu',
    discover: async () => {
      if (!hardware.isPresent()) return { devices: {} };
      await hardware.touch('discover');
      const types = Object.keys(sizes).filter(hardware.offersType);
      return { devices: { [address]: describe(hardware.read(), types) } };
    },
    find: async (handle) => foundIn(hardware.read(), toMdev(handle)),
    prepare: async (handle) => {
      if (!hardware.offersType(handle.info.asked_type ?? '')) throw toError('ENOENT', 'prepare');
      await hardware.operate('prepare', (before) => withMdev(before, toMdev(handle)));
      return {};
    },
    clean: async (handle) => {
      await hardware.operate('clean', (before) => withoutMdev(before, toMdev(handle)));
      return { removed: handle.uuid };
    },
    components: componentVerbs(deps),
  };
}

/** An image is a text whose first line is its version. */
function componentVerbs({ directory }: FakeHardwareDeps): Components {
  const deps = { directory, bootId: anyBoot };
  const flash = openFakeHardware(deps, 'gpu-flash', flashForm, { running: '1.0' });
  const find = (place: { readonly address: string; readonly component: string }) => {
    if (place.address !== address || place.component !== component) {
      throw toError('ENODEV', 'program');
    }
  };
  const versionIn = async (imagePath: string) => {
    const [version = ''] = (await readFile(imagePath, 'utf8')).split('\n');
    if (version === '') throw new ImageRefused('The image has no version.');
    return version;
  };
  return {
    list: async (at) =>
      at === address && flash.isPresent()
        ? [{ name: component, version: flash.read().running }]
        : [],
    check: async (image) => {
      find(image);
      await versionIn(image.imagePath);
    },
    write: async (image, onProgress) => {
      find(image);
      const written = await versionIn(image.imagePath);
      onProgress(0);
      // What an unfinished write leaves is never run.
      const erased = ({ running }: z.infer<typeof flashForm>) => ({ running });
      await flash.operate('program', ({ running }) => ({ running, written }), erased);
      onProgress(100);
    },
    activate: async (place) => {
      find(place);
      await flash.operate('activate', ({ running, written = running }) => ({ running: written }));
      return 'active';
    },
  };
}

function toMdev({ address: parent, uuid, info }: HandleWork): Mdev {
  return { address: parent, type: info.asked_type ?? '', uuid };
}

function foundIn({ mdevs }: State, requested: Mdev): Found {
  const existing = mdevs.find(({ uuid }) => uuid === requested.uuid);
  if (!existing) return { state: 'absent' };
  const isSame = existing.type === requested.type && existing.address === requested.address;
  return isSame
    ? { state: 'ready' }
    : { state: 'other', what: `an mdev of type ${existing.type} on ${existing.address}` };
}

/** Refuses as the kernel and mtty do. */
function withMdev({ mdevs }: State, requested: Mdev): State {
  const size = sizes[requested.type];
  if (requested.address !== address || size === undefined) throw toError('ENOENT', 'prepare');
  if (mdevs.some(({ uuid }) => uuid === requested.uuid)) throw toError('EEXIST', 'prepare');
  if (countFree(mdevs) < size) throw toError('ENOSPC', 'prepare');
  return { mdevs: [...mdevs, requested] };
}

function withoutMdev({ mdevs }: State, { uuid: unwanted }: Mdev): State {
  const left = mdevs.filter(({ uuid }) => uuid !== unwanted);
  if (left.length === mdevs.length) throw toError('ENODEV', 'clean');
  return { mdevs: left };
}

function countFree(mdevs: readonly Mdev[]): number {
  return mdevs.reduce((free, { type }) => free - (sizes[type] ?? 0), poolSize);
}

function describe({ mdevs }: State, types: readonly string[]): ReportedDevice {
  return {
    address,
    driver: 'fake_gpu',
    type: 'GPU',
    vendor: '0xABCD',
    product: '0x9b01',
    model: 'fake GPU',
    std_board_info: '{"product_id": "0x9b01", "class": "Fake class"}',
    vendor_board_info: 'fake_vendor_info',
    regions: types.map((type) => describeRegion(type, mdevs)),
  };
}

/** Offers existing mdevs of the type, and those that can still be created. */
function describeRegion(type: string, mdevs: readonly Mdev[]): ReportedRegion {
  const created = mdevs.filter((each) => each.type === type).length;
  const count = created + Math.floor(countFree(mdevs) / (sizes[type] ?? 1));
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
