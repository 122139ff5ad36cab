// Whole NVMe devices for passthrough, of any vendor: found, guarded and bound like other PCI
// functions, and erased after each holder. A device that is offered is on a VFIO driver; while it
// is cleaned, it is on the kernel's driver `nvme`, through which nvme-cli reaches it.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { type AllowListEntry, matches } from '#agent/drivers/pci/allow-list.ts';
import { ssdTraits } from '#agent/drivers/pci/ids.ts';
import { createPciDriver, handleAddress } from '#agent/drivers/pci/index.ts';
import { bindFunction } from '#agent/drivers/pci/setup.ts';
import { type PciFunction, readPciFunctionAt, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import {
  type ControllerFacts,
  type KnownControllers,
  onlyFor,
  openKnownControllers,
  waitForController,
} from './controllers.ts';
import { type Erasure, erase } from './erase.ts';
import { askErasure, eraseRefusals, examineNvme } from './examine.ts';
import { readBootPartitionBytes, resetBootPartitions, resetNamespaces } from './remains.ts';
import { isErasing, type NvmeSettings, toAllowList } from './settings.ts';
import { type Controller, identify } from './tool.ts';

const name = 'nvme';
/** Time to return to the VFIO driver, before the agent gives up the job. */
const wayBackMs = 30_000;

interface NvmeDeps {
  readonly settings: NvmeSettings;
  readonly context: DriverContext;
  readonly allowList: readonly AllowListEntry[];
  readonly controllers: KnownControllers;
}

export function createNvmeDriver(settings: NvmeSettings, context: DriverContext): Driver {
  const { sysfs } = context;
  const allowList = toAllowList(settings);
  const controllers = openKnownControllers(sysfs, context.directory);
  const deps = { settings, context, allowList, controllers };
  /** Addresses of devices that are being cleaned. Lost with the agent: the job begins anew. */
  const busy = new Set<string>();
  const cannotErase = () => eraseRefusals(settings, controllers, allowedFunctions(deps));
  const pci = createPciDriver({
    ...context,
    name,
    allowList,
    busy,
    withheld: cannotErase,
    namesMissing: true,
  });
  const seen = (functions: readonly PciFunction[]) =>
    [
      functions.filter(({ address }) => !busy.has(address)),
      (at: string, ids: string) => isNamed(allowList, at, ids),
      isErasing(settings.clean) ? askErasure(settings, context) : undefined,
    ] as const;
  /** Before a device leaves the kernel's driver, which alone shows its serial number. */
  const remember = async () => {
    const functions = allowedFunctions(deps);
    await controllers.remember(...seen(functions));
    return functions;
  };
  return {
    ...pci,
    plan: async () => {
      await controllers.look(...seen(allowedFunctions(deps)));
      const refusals = cannotErase();
      const changes = (await pci.plan?.()) ?? [];
      return changes.map((change) => {
        const { address, what, before, after } = change;
        const refusal = refusals.get(address);
        if (refusal !== undefined) {
          return { address, what, before, after, refusal: `${address} ${refusal}` };
        }
        if (!('apply' in change)) return change;
        return {
          ...change,
          apply: async () => {
            await remember();
            await change.apply();
          },
        };
      });
    },
    discover: async () => {
      const facts = controllers.factsFor(await remember());
      const { devices, notOffered = [] } = await pci.discover();
      const twins = findTwins(facts);
      const offered = Object.entries(devices).filter(([address]) => !twins.has(address));
      return {
        devices: Object.fromEntries(
          offered.map(([address, device]) => [
            address,
            described(device, settings, facts.get(address)),
          ]),
        ),
        notOffered: [
          ...notOffered,
          ...[...twins].map(([address, reason]) => ({ address, reason })),
        ],
      };
    },
    examine: () => examineNvme(settings, context, allowedFunctions(deps)),
    clean: async (handle, onProgress) => {
      if (!isErasing(settings.clean)) return (await pci.clean?.(handle, onProgress)) ?? {};
      const address = handleAddress(handle);
      busy.add(address);
      try {
        return await clean(deps, handle, onProgress);
      } finally {
        busy.delete(address);
      }
    },
  };
}

function allowedFunctions({ context, allowList }: NvmeDeps): PciFunction[] {
  // What cannot be read is reported by discovery.
  const all = readPciFunctions(context.sysfs, () => {});
  return all.filter((fn) => !fn.physicalFunction && allowList.some((each) => matches(each, fn)));
}

/** A device as it was seen. */
function isNamed(allowList: readonly AllowListEntry[], address: string, ids: string): boolean {
  const [vendorId = '', productId = '', ...subsystem] = ids.split(':');
  const subsystemId = subsystem.join(':');
  const seen = { address, path: '', vendorId, productId, subsystemId, classCode: '010802' };
  return allowList.some((entry) => matches(entry, seen));
}

/**
 * Two ports of one NVM subsystem have one serial number, and a Sanitize by one of them erases what
 * the holder of the other one has.
 */
function findTwins(facts: ReadonlyMap<string, ControllerFacts>): ReadonlyMap<string, string> {
  const bySerial = Map.groupBy(facts, ([, { serial }]) => serial);
  const twins = new Map<string, string>();
  for (const same of bySerial.values()) {
    for (const [address] of same) {
      const other = same.find((each) => each[0] !== address)?.[0];
      if (other) twins.set(address, `has the same serial number as ${other}`);
    }
  }
  return twins;
}

function described(
  device: ReportedDevice,
  { clean, clean_seconds: seconds }: NvmeSettings,
  facts: ControllerFacts | undefined,
): ReportedDevice {
  const { offers, vendor, product } = device;
  const { serial, model, firmware, gigabytes } = facts ?? {};
  const attributes = {
    ...(model && { model_name: model }),
    ...(gigabytes && { capacity_gb: String(gigabytes) }),
  };
  return {
    ...device,
    // Blanks inside of a serial number are valid; those of an identity are not.
    ...(serial && { identity: serial.replaceAll(' ', '_') }),
    ...(firmware && { firmware }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(offers && {
      offers: {
        ...offers,
        traits: [...new Set([...ssdTraits(vendor, product), ...offers.traits])],
        attach_handles: offers.attach_handles.map((handle) => ({
          ...handle,
          ...(isErasing(clean) && { clean_seconds: seconds }),
        })),
      },
    }),
  };
}

/** May begin at any point of an earlier run that has died. */
async function clean(
  deps: NvmeDeps,
  handle: HandleWork,
  onProgress: (percent: number) => void,
): Promise<Evidence> {
  const { settings, context } = deps;
  const until = context.clock.monotonicMs() + settings.clean_seconds * 1000 - wayBackMs;
  const address = handleAddress(handle);
  await checked(deps, address);
  await deps.controllers.remember([]);
  const facts = deps.controllers.factsFor(allowedFunctions(deps));
  const expected = facts.get(address);
  const twin = findTwins(facts).get(address);
  if (twin) throw new Error(`The device at ${address} ${twin}.`);
  let evidence: Evidence;
  try {
    let bootPartitions: number | undefined;
    await bindFunction(context, address, name, async (fn) => {
      if (settings.boot_partitions === 'keep') return;
      bootPartitions = await readBootPartitionBytes(context, fn);
    });
    const { name: controller, facts: shown } = await waitForController(context, address);
    // The host may have found a file system or a volume on the device, and have started it.
    await checked(deps, address);
    const { clock } = context;
    const erasure = {
      hardware: onlyFor(context, address, controller),
      address,
      tool: settings.tool,
      controller,
      clock,
      until,
      onProgress,
    };
    const identity = await identify(erasure);
    checkIdentity(address, identity, shown, expected);
    evidence = {
      ...(await eraseAll(erasure, identity, deps, bootPartitions)),
      ...readFirmware(identity, expected),
    };
  } catch (error) {
    // The host must not read what a tenant has written; the error is the first one.
    await bindFunction(context, address, settings.bind_to).catch((second: unknown) => {
      context.log.warn('NVMe device left on the driver nvme', { address, error: String(second) });
    });
    throw error;
  }
  await bindFunction(context, address, settings.bind_to);
  return evidence;
}

/** @throws a sentence if the device is gone, in use or no longer on the list */
async function checked({ context, allowList }: NvmeDeps, address: string): Promise<void> {
  const { sysfs, guards } = context;
  const fn = readPciFunctionAt(sysfs, address);
  if (!fn) throw new Error(`The function ${address} is no longer there.`);
  const isOurs = (each: PciFunction) => allowList.some((entry) => matches(entry, each));
  // Another card in its place would lose its data.
  if (!isOurs(fn)) throw new Error(`The function ${address} is not in the settings of ${name}.`);
  const refusal = await guards.recheck(address, isOurs);
  if (refusal) throw new Error(`The device at ${address} ${refusal}.`);
}

async function eraseAll(
  erasure: Erasure,
  identity: Controller,
  { settings, context }: NvmeDeps,
  bootPartitions: number | undefined,
): Promise<Evidence> {
  const { clean, namespaces, boot_partitions: boot } = settings;
  // Format erases namespaces, so those come first; while a sanitize operation of an earlier run
  // goes on, namespaces cannot be changed.
  const first = clean === 'format' ? await resetNamespaces(erasure, identity, namespaces) : {};
  const erased = await erase(erasure, identity, clean);
  const then = clean === 'format' ? {} : await resetNamespaces(erasure, identity, namespaces);
  return {
    ...erased,
    ...first,
    ...then,
    ...(await resetBootPartitions(erasure, boot, {
      directory: context.directory,
      read: bootPartitions,
    })),
  };
}

function checkIdentity(
  address: string,
  identity: Controller,
  shown: ControllerFacts,
  expected: ControllerFacts | undefined,
): void {
  if (identity.serial !== shown.serial) {
    throw new Error(`The controller at ${address} and the kernel name different serial numbers.`);
  }
  if (expected && expected.serial !== identity.serial) {
    throw new Error(`The device at ${address} is another one than before: its serial number.`);
  }
  if (expected?.firmware && expected.firmware !== identity.firmware) {
    const now = identity.firmware.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 8);
    throw new Error(`The firmware of ${address} is ${now}, and was ${expected.firmware}.`);
  }
}

function readFirmware({ firmware }: Controller, expected: ControllerFacts | undefined): Evidence {
  return { firmware: firmware.slice(0, 8), firmware_unchanged: expected?.firmware === firmware };
}
