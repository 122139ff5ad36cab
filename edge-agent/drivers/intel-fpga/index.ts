// Intel's FPGA cards (PAC, OFS) on the kernel's DFL drivers or OPAE's intel-fpga. Each port is a
// region that takes images; a guest gets the virtual function of a port, or the whole card.

import { createDeviceLocks, type DeviceLocks } from '#agent/device-locks.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type {
  Driver,
  HandleWork,
  HostChange,
  RegionImage,
} from '#agent/drivers/contract/driver.ts';
import { createPciDriver, handleAddress } from '#agent/drivers/pci/index.ts';
import { createSerials } from '#agent/drivers/pci/naming/serials.ts';
import { functionCount } from '#agent/drivers/pci/setup.ts';
import { checkImage } from '#agent/images/image-check.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, pciSignature, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { portOfRegion } from './describe.ts';
import { type DiscoveryDeps, discoverCard } from './discovery.ts';
import { type Engine, readFunction } from './engines.ts';
import { clearErrors } from './errors.ts';
import { findPort, program } from './images.ts';
import { openCardRecords } from './known.ts';
import { bindVirtual, planFunctions, virtualAddresses, withPorts } from './ports.ts';
import {
  type IntelFpgaCards,
  type IntelFpgaSettings,
  intelFpgaName as name,
  toAllowList,
} from './settings.ts';

const resetMs = 30_000;

interface FpgaDeps extends DiscoveryDeps {
  readonly byAddress: ReadonlyMap<string, IntelFpgaCards>;
  /** Addresses of cards, and of their functions, on which a job works. */
  readonly busy: Set<string>;
  /** One lock per card: the set-up and a job never move its ports at the same time. */
  readonly locks: DeviceLocks;
  readonly pci: Driver;
}

export function createIntelFpgaDriver(settings: IntelFpgaSettings, context: DriverContext): Driver {
  const { sysfs, hardware, clock } = context;
  const busy = new Set<string>();
  const pci = createPciDriver({ ...context, name, busy, allowList: toAllowList(settings) });
  const deps: FpgaDeps = {
    settings,
    context,
    busy,
    pci,
    locks: createDeviceLocks(),
    records: openCardRecords(context.directory, context.bootId),
    serials: createSerials(hardware),
    since: new Date(clock.wallMs()).toISOString(),
    healthBefore: new Map(),
    byAddress: new Map(
      settings.cards.flatMap((cards) => cards.addresses.map((each) => [each, cards] as const)),
    ),
  };
  return {
    name,
    signature: () => pciSignature(sysfs),
    plan: () => plan(deps),
    discover: async () => {
      await deps.records.keepOnly((address) => deps.byAddress.has(address));
      const discovery = await pci.discover();
      const devices: Record<string, ReportedDevice> = {};
      const reasons = new Map(
        (discovery.notOffered ?? []).map((each) => [each.address, each.reason]),
      );
      for (const [address, cards] of deps.byAddress) {
        const offered = discovery.devices[address];
        const described = await discoverCard(deps, {
          address,
          cards,
          offered,
          isBusy: busy.has(address),
        })
          // One card that cannot be read hides no other.
          .catch((error: unknown) => `cannot be read (${reasonOf(error)})`);
        if (typeof described === 'string') reasons.set(address, reasons.get(address) ?? described);
        else if (described && described.regions.length > 0) devices[address] = described;
      }
      const notOffered = [...reasons].map(([address, reason]) => ({ address, reason }));
      return { devices, notOffered };
    },
    clean: (handle, onProgress) => clean(deps, handle, onProgress),
    images: { check: checkImage, write: (image, onProgress) => write(deps, image, onProgress) },
    ...(pci.components && { components: pci.components }),
  };
}

/** Virtual functions first; then their bindings. */
async function plan(deps: FpgaDeps): Promise<readonly HostChange[]> {
  const { context, byAddress, busy, pci } = deps;
  const changes: HostChange[] = [];
  for (const [address, cards] of byAddress) {
    const fn = readPciFunctionAt(context.sysfs, address);
    if (!fn || !cards.virtual_functions || busy.has(address)) continue;
    const planned = await planFunctions(deps, fn).catch((error: unknown) => {
      const refusal = `it cannot be read (${reasonOf(error)})`;
      const after = 'one for each port';
      return [{ address, what: functionCount, before: 'unknown', after, refusal }];
    });
    changes.push(...planned.map((change) => lockedChange(deps, address, change)));
  }
  const bindings = (await pci.plan?.()) ?? [];
  return [...changes, ...bindings.map((change) => checkedBinding(deps, change))];
}

/** A job may have begun since the change was planned. */
function lockedChange({ busy, locks }: FpgaDeps, card: string, change: HostChange): HostChange {
  if (!('apply' in change)) return change;
  return {
    ...change,
    apply: async () => {
      if (busy.has(card)) throw new Error(`a job works on ${card}`);
      await locks.hold([card], change.apply);
    },
  };
}

/** The binding of a virtual function, after its port was compared. */
function checkedBinding(deps: FpgaDeps, change: HostChange): HostChange {
  if (!('apply' in change)) return change;
  const { address, after } = change;
  const card = readPciFunctionAt(deps.context.sysfs, address)?.physicalFunction ?? address;
  return lockedChange(deps, card, {
    ...change,
    apply: async () => {
      const virtual = readPciFunctionAt(deps.context.sysfs, address);
      const physical = readPciFunctionAt(deps.context.sysfs, virtual?.physicalFunction ?? '');
      if (!physical || deps.busy.has(address)) return await change.apply();
      const port = virtualAddresses(deps.context, physical).indexOf(address);
      await bindVirtual(deps, physical, { address, port }, after);
    },
  });
}

interface Card {
  readonly fn: PciFunction;
  readonly cards: IntelFpgaCards;
}

/** @throws if the settings do not name the card, or it is gone */
function cardAt({ byAddress, context }: FpgaDeps, address: string): Card {
  const cards = byAddress.get(address);
  if (!cards) throw new Error(`The card ${address} is not in the settings of ${name}.`);
  const fn = readPciFunctionAt(context.sysfs, address);
  if (!fn) throw new Error(`The card ${address} is no longer there.`);
  return { fn, cards };
}

/** Keeps discovery and set-up away from the card meanwhile. */
function whileBusy<T>(deps: FpgaDeps, { fn }: Card, work: () => Promise<T>): Promise<T> {
  return deps.locks.hold([fn.address], async () => {
    const functions = (await deps.records.card(fn))?.functions ?? [];
    const all = [fn.address, ...functions, ...virtualAddresses(deps.context, fn)];
    for (const each of all) deps.busy.add(each);
    try {
      return await work();
    } finally {
      for (const each of all) deps.busy.delete(each);
    }
  });
}

async function write(
  deps: FpgaDeps,
  { address, region, imageId, imagePath }: RegionImage,
  onProgress: (percent: number) => void,
): Promise<void> {
  const card = cardAt(deps, address);
  const port = portOfRegion(region);
  const facts = await deps.records.card(card.fn);
  if (port === undefined || !facts || port >= facts.ports) {
    throw new Error(`The card ${address} has no region ${region}.`);
  }
  // Before virtual functions go for it.
  const { functionUuids } = await checkImage(imagePath, facts.interface);
  await whileBusy(deps, card, () =>
    withPorts(deps, card.cards, card.fn, async (engine) => {
      onProgress(0);
      const { functionUuid } = await program(deps, card.fn, engine, port, imagePath);
      const others = functionUuids.filter((each) => each !== functionUuid);
      const functions = [functionUuid, ...others];
      await deps.records.setContent(address, port, { image: imageId, functions });
      onProgress(100);
    }),
  );
}

/** May begin at any point of an earlier run that has died. */
async function clean(
  deps: FpgaDeps,
  handle: HandleWork,
  onProgress: (percent: number) => void,
): Promise<Evidence> {
  const { settings, context, records } = deps;
  const card = cardAt(deps, handle.address);
  const address = handleAddress(handle);
  if (settings.clean !== 'blank' && card.cards.virtual_functions) {
    return (await deps.pci.clean?.(handle, onProgress)) ?? {};
  }
  const before = await records.card(card.fn);
  const existing = virtualAddresses(context, card.fn);
  const functions = existing.includes(address) ? existing : (before?.functions ?? []);
  const port = card.cards.virtual_functions ? functions.indexOf(address) : 0;
  if (port < 0) throw new Error(`The function ${address} has no port of ${handle.address}.`);
  if (readPciFunctionAt(context.sysfs, address)) await checkFree(deps, address);
  return await whileBusy(deps, card, () =>
    withPorts(deps, card.cards, card.fn, async (engine) => {
      checkStatic(engine, before);
      return await cleanRegion(deps, card.fn, engine, port);
    }),
  );
}

async function checkFree({ context, byAddress }: FpgaDeps, address: string): Promise<void> {
  const refusal = await context.guards.recheck(address, (each) =>
    [each.address, each.physicalFunction ?? ''].some((one) => byAddress.has(one)),
  );
  if (refusal) throw new Error(`The device at ${address} ${refusal}.`);
}

/** A guest that had the whole card may have replaced what is in its flash. */
function checkStatic(
  { address, static_region: now, interface: id }: Engine,
  before: { readonly static_region: string; readonly interface: string } | undefined,
): void {
  if (!before) throw new Error(`What the static region of ${address} was is not known.`);
  if (before.static_region !== now) {
    throw new Error(`The static region of ${address} is ${now}, and was ${before.static_region}.`);
  }
  if (before.interface !== id) {
    throw new Error(`The interface of ${address} is ${id}, and was ${before.interface}.`);
  }
}

async function cleanRegion(
  deps: FpgaDeps,
  fn: PciFunction,
  engine: Engine,
  port: number,
): Promise<Evidence> {
  const { settings, context, records } = deps;
  const common = { static_region: engine.static_region, memory_of_card: 'not erased' };
  if (settings.clean === 'blank') {
    const path = settings.blank_images.get(engine.interface);
    if (!path) throw new Error(`blank_images names no image for interface ${engine.interface}.`);
    const { functionUuid, cleared } = await program(deps, fn, engine, port, path);
    await records.setContent(engine.address, port, { functions: [] });
    return {
      cleaned_by: 'blank image',
      function: functionUuid,
      errors_cleared: cleared,
      ...common,
    };
  }
  if (engine.stack !== 'dfl')
    throw new Error('The driver intel-fpga is not asked to reset a port.');
  const reset = await findPort(deps, fn, port);
  const cleared = await clearErrors(context, engine, reset);
  await context.hardware.help(engine.address, ['dfl-reset', reset.node], resetMs);
  const shown = await readFunction(context, engine.address, reset);
  return { cleaned_by: 'port reset', function: shown, errors_cleared: cleared, ...common };
}
