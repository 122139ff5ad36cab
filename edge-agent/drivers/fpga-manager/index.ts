// FPGAs that the kernel's class fpga_manager programs: boards without a PCI address of their own,
// such as a system on a chip, named as the kernel names them. A board takes images; a guest gets
// the PCI function that the settings name for it, if there is one.

import * as z from 'zod';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork, RegionImage } from '#agent/drivers/contract/driver.ts';
import { createPciDriver, handleAddress, offeredAddresses } from '#agent/drivers/pci/index.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { reasonOf } from '#agent/log.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { pciSignature, readPciFunctionAt, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
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
  type FpgaBoard,
  type FpgaManagerSettings,
  fpgaManagerName as name,
  toAllowList,
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

interface BoardDeps {
  readonly settings: FpgaManagerSettings;
  readonly context: DriverContext;
  /** Functions, and managers, on which a job works. */
  readonly busy: Set<string>;
  /** What was written in this boot; the hardware does not show it. */
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
    allowList: toAllowList(settings),
    // An image may give the function other ids.
    namesIds: () => true,
  });
  const deps: BoardDeps = {
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
      const discovery = await pci.discover();
      const free = new Set(Object.values(discovery.devices).flatMap(offeredAddresses));
      const attached = new Set(settings.boards.flatMap(({ attach }) => attach ?? []));
      const reasons = new Map(
        (discovery.notOffered ?? [])
          .filter(({ address }) => attached.has(address))
          .map((each) => [each.address, each.reason]),
      );
      const devices: Record<string, ReportedDevice> = {};
      for (const board of settings.boards) {
        const described = await describeBoard(deps, board, free).catch(
          (error: unknown) => `cannot be read (${reasonOf(error)})`,
        );
        if (typeof described === 'string') reasons.set(board.manager, described);
        else devices[board.manager] = described;
      }
      const notOffered = [...reasons].map(([address, reason]) => ({ address, reason }));
      return { devices, notOffered };
    },
    clean: (handle) => clean(deps, handle),
    images: { check: checkContent, write: (image, onProgress) => write(deps, image, onProgress) },
  };
}

async function describeBoard(
  deps: BoardDeps,
  board: FpgaBoard,
  free: ReadonlySet<string>,
): Promise<ReportedDevice | string> {
  const { context, busy, seen } = deps;
  const { manager: address, attach } = board;
  const before = busy.has(address) ? seen.get(address) : undefined;
  const manager = before ?? (await readManager(context, address));
  if (!manager) return 'is not in /sys/class/fpga_manager';
  seen.set(address, manager);
  if (/^DFL /.test(manager.model)) return 'belongs to a card that driver intel_fpga knows';
  if (attach && !busy.has(address)) {
    const reason = await blankReason(board, manager);
    if (reason !== undefined) return reason;
  }
  const handle = attach && free.has(attach) ? parsePciAddress(attach) : undefined;
  const written = await deps.contents.get(address);
  const [first, ...others] = written?.functions ?? [];
  const fn = attach === undefined ? undefined : readPciFunctionAt(context.sysfs, attach);
  const health = toHealth(manager, deps.since);
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
async function blankReason(board: FpgaBoard, { canProgram }: Manager): Promise<string | undefined> {
  if (board.clean !== 'blank' || !board.blank_image) return undefined;
  if (!canProgram) return 'cannot be blanked after a guest: the kernel has no file firmware for it';
  try {
    await checkContent(board.blank_image, board.interface);
    return undefined;
  } catch (error) {
    return `cannot be blanked after a guest: ${board.blank_image}: ${reasonOf(error)}`;
  }
}

/** State names: Linux Documentation/ABI/testing/sysfs-class-fpga-manager. */
function toHealth({ state }: Manager, since: string): ReportedDevice['health'] {
  if (state === 'power off') return { state: 'unhealthy', reason: 'has no power', since };
  if (!state.endsWith(' error')) return undefined;
  return { state: 'degraded', reason: `shows the state "${state}"`, since };
}

function boardAt({ settings }: BoardDeps, address: string): FpgaBoard {
  const board = settings.boards.find(({ manager }) => manager === address);
  if (!board) throw new Error(`The board ${address} is not in the settings of ${name}.`);
  return board;
}

async function write(
  deps: BoardDeps,
  { address, region: regionName, imageId, imagePath }: RegionImage,
  onProgress: (percent: number) => void,
): Promise<void> {
  const board = boardAt(deps, address);
  if (regionName !== region) throw new Error(`The board ${address} has no region ${regionName}.`);
  await checkContent(imagePath, board.interface);
  await whileBusy(deps, board, async () => {
    const manager = await readManager(deps.context, address);
    if (manager && !manager.canProgram) throw new ImageRefused(withoutFirmware(address));
    onProgress(0);
    const { functionUuids } = await writeTo(deps, board, imagePath);
    await deps.contents.set(address, { image: imageId, functions: [...functionUuids] });
    onProgress(100);
  });
}

async function writeTo(deps: BoardDeps, board: FpgaBoard, path: string) {
  const { manager, interface: id, images } = board;
  const { firmware_directory: firmwareDirectory } = deps.settings;
  // The content is unknown from here on, until it is verified.
  await deps.contents.set(manager, undefined);
  const isPartial = images === 'partial';
  const writing = { manager, interface: id, isPartial, firmwareDirectory };
  return await writeImage(deps.context, writing, path);
}

async function clean(deps: BoardDeps, handle: HandleWork): Promise<Evidence> {
  const board = boardAt(deps, handle.address);
  const { attach, blank_image: blank } = board;
  if (attach !== handleAddress(handle)) {
    throw new Error(`The board ${handle.address} has no function ${handleAddress(handle)}.`);
  }
  if (board.clean !== 'blank' || !blank) throw new Error('The settings name no blank image.');
  return await whileBusy(deps, board, async () => {
    const { functionUuid } = await writeTo(deps, board, blank);
    return { cleaned_by: 'blank image', function: functionUuid, verified_by: 'state operating' };
  });
}

/** Keeps discovery away from the board. @throws if something uses its function */
async function whileBusy<T>(
  { context, busy }: BoardDeps,
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
  get(manager: string): Promise<Content | undefined>;
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
    get: async (manager) => {
      await last;
      const entry = (await load())[manager];
      return entry?.boot === bootId ? entry : undefined;
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
