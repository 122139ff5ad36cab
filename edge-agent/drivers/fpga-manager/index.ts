// FPGAs that the kernel's class fpga_manager programs: boards without a PCI address of their own,
// such as a system on a chip, named as the kernel names them. A board takes images; a guest gets
// the PCI function that the settings name for it, if there is one.

import * as z from 'zod';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork, RegionImage } from '#agent/drivers/contract/driver.ts';
import { addressOf, createPciDriver } from '#agent/drivers/pci/index.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { reasonOf } from '#agent/log.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { pciSignature, readPciFunctionAt, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Evidence } from '#core/contracts/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  checkContent,
  type Manager,
  managerNames,
  readManager,
  withoutFirmware,
  writeImage,
} from './manager-class.ts';
import {
  allowListOf,
  type FpgaBoard,
  type FpgaManagerSettings,
  fpgaManagerName as name,
} from './settings.ts';

const region = 'region0';
const cleanSeconds = 280;

const content = z.object({
  boot: z.string(),
  image: z.guid().optional(),
  functions: z.array(z.guid()).max(64),
});
type Content = z.infer<typeof content>;
const contents = z.record(z.string(), content);
const file = 'contents.json';

interface Given {
  readonly settings: FpgaManagerSettings;
  readonly context: DriverContext;
  /** Functions, and managers, on which a job works. */
  readonly busy: Set<string>;
  /** What was written in this boot, which the hardware does not tell. */
  readonly contents: Contents;
  readonly since: string;
  /** Managers that a job uses are not asked: the last answer stands. */
  readonly seen: Map<string, Manager>;
}

export function createFpgaManagerDriver(
  settings: FpgaManagerSettings,
  context: DriverContext,
): Driver {
  const { sysfs, clock } = context;
  const busy = new Set<string>();
  const pci = createPciDriver({
    ...context,
    name,
    busy,
    allowList: allowListOf(settings),
  });
  const given: Given = {
    settings,
    context,
    busy,
    seen: new Map(),
    contents: openContents(context),
    since: new Date(clock.wallMs()).toISOString(),
  };
  return {
    name,
    signature: () => `${pciSignature(sysfs)} ${[...managerNames(context)].sort().join()}`,
    ...present({ plan: pci.plan }),
    discover: async () => {
      const found = await pci.discover();
      const free = new Set(Object.values(found.devices).flatMap(offeredBy));
      const own = new Set(settings.boards.flatMap(({ attach }) => attach ?? []));
      const reasons = new Map(
        (found.notOffered ?? [])
          .filter(({ address }) => own.has(address))
          .map((each) => [each.address, each.reason]),
      );
      const devices: Record<string, ReportedDevice> = {};
      for (const board of settings.boards) {
        const told = await tellBoard(given, board, free).catch(
          (error: unknown) => `cannot be read (${reasonOf(error)})`,
        );
        if (typeof told === 'string') reasons.set(board.manager, told);
        else devices[board.manager] = told;
      }
      const notOffered = [...reasons].map(([address, reason]) => ({ address, reason }));
      return { devices, notOffered };
    },
    clean: (handle) => clean(given, handle),
    images: { check: checkContent, write: (image, onProgress) => write(given, image, onProgress) },
  };
}

function offeredBy({ offers }: ReportedDevice): string[] {
  return (offers?.attach_handles ?? []).flatMap(({ info }) => {
    const { domain, bus, device, function: fn } = info;
    const parsed = parsePciAddress(`${domain}:${bus}:${device}.${fn}`);
    return parsed ? [printPciAddress(parsed)] : [];
  });
}

async function tellBoard(
  given: Given,
  board: FpgaBoard,
  free: ReadonlySet<string>,
): Promise<ReportedDevice | string> {
  const { context, busy, seen } = given;
  const { manager: address, attach } = board;
  const before = busy.has(address) ? seen.get(address) : undefined;
  const manager = before ?? (await readManager(context, address));
  if (!manager) return 'is not in /sys/class/fpga_manager';
  seen.set(address, manager);
  if (/^DFL /.test(manager.model)) return 'belongs to a card that driver intel_fpga knows';
  if (attach && !busy.has(address)) {
    const reason = await blankReason(board);
    if (reason !== undefined) return reason;
  }
  const handle = attach && free.has(attach) ? parsePciAddress(attach) : undefined;
  const written = await given.contents.of(address);
  const [first, ...others] = written?.functions ?? [];
  const fn = attach === undefined ? undefined : readPciFunctionAt(context.sysfs, attach);
  const health = healthOf(manager, given.since);
  return {
    address,
    driver: name,
    type: 'FPGA',
    vendor: 'linux',
    product: address,
    model: manager.model,
    std_board_info: JSON.stringify({ manager: address, name: manager.model }),
    vendor_board_info: 'miss_vb_info',
    attributes: {
      images: board.images,
      programming: manager.canProgram ? 'firmware' : 'none',
    },
    ...present({ health }),
    ...(fn && readPlace(context.sysfs, fn)),
    regions: [
      {
        name: region,
        kind: 'reconfigurable-region',
        'region-type-uuid': board.interface,
        ...(written?.image && { 'bitstream-id': written.image }),
        ...(first && { 'function-uuid': first }),
        ...(others.length > 0 && { 'function-uuids': others.slice(0, 16) }),
        resource_class: 'FPGA',
        traits: board.traits,
        attach_handles: handle
          ? [
              {
                type: 'PCI',
                info: { ...handle },
                ...(board.clean === 'blank' && { clean_seconds: cleanSeconds }),
              },
            ]
          : [],
      },
    ],
  };
}

/** Why the board could not be blanked after a guest. */
async function blankReason(board: FpgaBoard): Promise<string | undefined> {
  if (board.clean !== 'blank' || !board.blank_image) return undefined;
  try {
    await checkContent(board.blank_image, board.interface);
    return undefined;
  } catch (error) {
    return `cannot be blanked after a guest: ${board.blank_image}: ${reasonOf(error)}`;
  }
}

/** State names: Linux Documentation/ABI/testing/sysfs-class-fpga-manager. */
function healthOf({ state }: Manager, since: string): ReportedDevice['health'] {
  if (state === 'power off') return { state: 'unhealthy', reason: 'has no power', since };
  if (!state.endsWith(' error')) return undefined;
  return { state: 'degraded', reason: `shows the state "${state}"`, since };
}

function boardAt({ settings }: Given, address: string): FpgaBoard {
  const found = settings.boards.find(({ manager }) => manager === address);
  if (!found) throw new Error(`The board ${address} is not in the settings of ${name}.`);
  return found;
}

async function write(
  given: Given,
  { address, region: asked, imageId, imagePath }: RegionImage,
  onProgress: (percent: number) => void,
): Promise<void> {
  const board = boardAt(given, address);
  if (asked !== region) throw new Error(`The board ${address} has no region ${asked}.`);
  await checkContent(imagePath, board.interface);
  await whileBusy(given, board, async () => {
    const manager = await readManager(given.context, address);
    if (manager && !manager.canProgram) throw new ImageRefused(withoutFirmware(address));
    onProgress(0);
    const { functionUuids } = await writeTo(given, board, imagePath);
    await given.contents.set(address, { image: imageId, functions: [...functionUuids] });
    onProgress(100);
  });
}

async function writeTo(given: Given, board: FpgaBoard, path: string) {
  const { manager, interface: id, images } = board;
  const { firmware_directory: firmwareDirectory } = given.settings;
  // From here on the content cannot be told, until it is verified.
  await given.contents.set(manager, undefined);
  const isPartial = images === 'partial';
  const writing = { manager, interface: id, isPartial, firmwareDirectory };
  return await writeImage(given.context, writing, path);
}

async function clean(given: Given, handle: HandleWork): Promise<Evidence> {
  const board = boardAt(given, handle.address);
  const { attach, blank_image: blank } = board;
  if (attach !== addressOf(handle)) {
    throw new Error(`The board ${handle.address} has no function ${addressOf(handle)}.`);
  }
  if (board.clean !== 'blank' || !blank) throw new Error('The settings name no blank image.');
  return await whileBusy(given, board, async () => {
    const { functionUuid } = await writeTo(given, board, blank);
    return { cleaned_by: 'blank image', function: functionUuid, verified_by: 'state operating' };
  });
}

/** Keeps discovery away from the board. @throws if something uses its function */
async function whileBusy<T>(
  { context, busy }: Given,
  { manager, attach }: FpgaBoard,
  work: () => Promise<T>,
): Promise<T> {
  if (attach) {
    const refusal = await context.guards.recheck(attach, ({ address }) => address === attach);
    if (refusal) throw new Error(`The device at ${attach} ${refusal}.`);
  }
  const all = [manager, ...(attach ? [attach] : [])];
  for (const each of all) busy.add(each);
  try {
    return await work();
  } finally {
    for (const each of all) busy.delete(each);
  }
}

interface Contents {
  of(manager: string): Promise<Content | undefined>;
  set(manager: string, written: Omit<Content, 'boot'> | undefined): Promise<void>;
}

function openContents({ directory, bootId }: DriverContext): Contents {
  const files = openStateFiles(directory);
  let last: Promise<unknown> = Promise.resolve();
  const load = async () => {
    try {
      return contents.parse(JSON.parse((await files.read(file)) ?? '{}'));
    } catch {
      return {};
    }
  };
  return {
    of: async (manager) => {
      await last;
      const found = (await load())[manager];
      return found?.boot === bootId ? found : undefined;
    },
    // Jobs of several boards run side by side.
    set: (manager, written) => {
      const turn = last.then(async () => {
        const { [manager]: _, ...others } = await load();
        const all = written ? { ...others, [manager]: { ...written, boot: bootId } } : others;
        await files.replace(file, JSON.stringify(all));
      });
      last = turn.catch(() => {});
      return turn;
    },
  };
}
