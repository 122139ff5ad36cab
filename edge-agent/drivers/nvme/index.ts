// Whole NVMe devices for passthrough, of any vendor: found, guarded and bound like other PCI
// functions, and erased after each holder.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { type AllowListEntry, matches } from '#agent/drivers/pci/allow-list.ts';
import { createPciDriver, handleAddress } from '#agent/drivers/pci/index.ts';
import { ssdTraits } from '#agent/drivers/pci/naming/ids.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { allowedFunctions, findTwins, type NvmeDeps, nvmeName, withController } from './access.ts';
import { type ControllerFacts, openKnownControllers } from './controllers.ts';
import { type Erasure, erase } from './erase.ts';
import { askErasure, eraseRefusals, examineNvme, examineNvmeTools } from './examine.ts';
import { nvmeComponents } from './firmware.ts';
import { readBootPartitionBytes, resetBootPartitions, resetNamespaces } from './remains.ts';
import { isErasing, type NvmeSettings, toAllowList } from './settings.ts';
import { createSmartReader, type SmartReader, smartHealth } from './smart.ts';
import type { Controller } from './tool.ts';

/** Time to return to the VFIO driver, before the agent gives up the job. */
const wayBackMs = 30_000;

export function createNvmeDriver(settings: NvmeSettings, context: DriverContext): Driver {
  const { sysfs } = context;
  const allowList = toAllowList(settings);
  const controllers = openKnownControllers(sysfs, context.directory);
  const busy = new Set<string>();
  const deps = { settings, context, allowList, controllers, busy };
  const readSmart = createSmartReader(deps);
  const cannotErase = () => eraseRefusals(deps, allowedFunctions(deps));
  const pci = createPciDriver({
    ...context,
    name: nvmeName,
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
  const remember = async (only?: string) => {
    const functions = allowedFunctions(deps);
    await controllers.remember(...seen(functions));
    const addresses = functions.map(({ address }) => address).filter((each) => !busy.has(each));
    await readSmart(new Set(only === undefined ? addresses : [only]));
    return functions;
  };
  return {
    ...pci,
    signature: () => `${pci.signature?.()} ${readSmart.signature()}`,
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
            await remember(address);
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
    examineTools: () => examineNvmeTools(settings, context),
    examine: () => examineNvme(settings, context, allowedFunctions(deps)),
    clean: async (handle, onProgress) => {
      if (!isErasing(settings.clean)) return (await pci.clean?.(handle, onProgress)) ?? {};
      return await clean({ ...deps, readSmart }, handle, onProgress);
    },
    components: nvmeComponents(deps),
  };
}

/** A device as it was seen. */
function isNamed(allowList: readonly AllowListEntry[], address: string, ids: string): boolean {
  const [vendorId = '', productId = '', ...subsystem] = ids.split(':');
  const subsystemId = subsystem.join(':');
  const seen = { address, path: '', vendorId, productId, subsystemId, classCode: '010802' };
  return allowList.some((entry) => matches(entry, seen));
}

function described(
  device: ReportedDevice,
  { clean, clean_seconds: seconds }: NvmeSettings,
  facts: ControllerFacts | undefined,
): ReportedDevice {
  const { offers, vendor, product } = device;
  const { serial, model, firmware, gigabytes, smart } = facts ?? {};
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
    ...present({ health: device.health ?? smartHealth(smart) }),
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
  deps: NvmeDeps & { readonly readSmart: SmartReader },
  handle: HandleWork,
  onProgress: (percent: number) => void,
): Promise<Evidence> {
  const { settings, context } = deps;
  const { clock } = context;
  const until = clock.monotonicMs() + settings.clean_seconds * 1000 - wayBackMs;
  const address = handleAddress(handle);
  let bootPartitions: number | undefined;
  return await withController(
    deps,
    address,
    async ({ tool, identity, expected }) => {
      checkFirmware(address, identity, expected);
      const erasure = { ...tool, clock, until, onProgress };
      const erased = await eraseAll(erasure, identity, deps, bootPartitions);
      // After the erasure, which may be what shows that the medium fails.
      await deps.readSmart(new Set([address]));
      return { ...erased, ...readFirmware(identity, expected) };
    },
    async (fn) => {
      if (settings.boot_partitions === 'keep') return;
      bootPartitions = await readBootPartitionBytes(context, fn);
    },
  );
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

function checkFirmware(
  address: string,
  identity: Controller,
  expected: ControllerFacts | undefined,
): void {
  if (!expected?.firmware) return;
  if (identity.firmware === expected.firmware || identity.firmware === expected.awaited) return;
  const now = identity.firmware.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 8);
  throw new Error(`The firmware of ${address} is ${now}, and was ${expected.firmware}.`);
}

function readFirmware({ firmware }: Controller, expected: ControllerFacts | undefined): Evidence {
  return { firmware: firmware.slice(0, 8), firmware_unchanged: expected?.firmware === firmware };
}
