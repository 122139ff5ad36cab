// What the controllers can do, before their first holder; and what driver `nvme` assumes of
// nvme-cli and of them, and what this host shows of it.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Observation } from '#agent/drivers/contract/driver.ts';
import { examineToolVersion } from '#agent/drivers/contract/tool-version.ts';
import { reasonOf } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type NvmeDeps, nvmeName } from './access.ts';
import { type Ask, onlyFor, shownControllers } from './controllers.ts';
import { eraseRefusal, sanitizeMethods } from './erase.ts';
import { nvmeReleases } from './output.ts';
import { bootRefusal } from './remains.ts';
import { isErasing, type NvmeSettings } from './settings.ts';
import { bootPartitionBytes, identify, readSanitizeLog } from './tool.ts';

/** Discovery must end within 30 s, with all devices of a host. */
const askMs = 5_000;

export function askErasure({ tool }: NvmeSettings, context: DriverContext): Ask {
  return async ({ address, name: controller }) => {
    const hardware = onlyFor(context, address, controller);
    const deps = { hardware, address, controller, tool, limitMs: askMs };
    const { sanitizeCapabilities, commands } = await identify(deps);
    const bytes = await bootPartitionBytes(deps).catch(() => undefined);
    return { sanitizeCapabilities, commands, ...present({ bootPartitionBytes: bytes }) };
  };
}

/** Devices that could not be erased after their first holder, by address. */
export function eraseRefusals(
  { settings, context: { hardware }, controllers }: NvmeDeps,
  functions: readonly PciFunction[],
): ReadonlyMap<string, string> {
  const { clean, tool, boot_partitions: boot } = settings;
  if (!isErasing(clean)) return new Map();
  const unasked = controllers.unasked();
  const facts = controllers.factsFor(functions);
  const refusalOf = ({ address, boundDriver }: PciFunction): string | undefined => {
    if (!hardware.isInstalled(tool)) return `cannot be erased: ${tool} is not installed`;
    const reason = unasked.get(address);
    if (reason !== undefined) return `cannot be asked what it can erase: ${reason}`;
    const erasure = facts.get(address)?.erasure;
    if (erasure) {
      return eraseRefusal(erasure, clean) ?? bootRefusal(erasure, boot, hardware.isInstalled());
    }
    if (boundDriver === nvmeName) return 'shows no serial number that is valid';
    const driver = boundDriver === undefined ? 'no driver' : `the driver ${boundDriver}`;
    return `is on ${driver}, where it does not show what it can erase: bind it to nvme once`;
  };
  return new Map(
    functions.flatMap((fn) => {
      const refusal = refusalOf(fn);
      return refusal === undefined ? [] : [[fn.address, refusal] as const];
    }),
  );
}

export async function examineNvme(
  { tool, boot_partitions: boot }: NvmeSettings,
  { sysfs, hardware }: DriverContext,
  functions: readonly PciFunction[],
): Promise<readonly Observation[]> {
  const seen: Observation[] = [];
  const names = new Map(shownControllers(sysfs).map(({ address, name }) => [address, name]));
  for (const { address, boundDriver } of functions) {
    const controller = names.get(address);
    if (!controller) {
      const what =
        boundDriver === 'nvme'
          ? "The kernel's driver nvme shows no controller of it."
          : `Its driver is ${boundDriver ?? 'none'}; only the driver nvme shows what it can do.`;
      seen.push({ address, outcome: 'not seen', what });
      continue;
    }
    const deps = { hardware, address, tool, controller };
    const observe = async (look: () => Promise<string>) => {
      try {
        seen.push({ address, outcome: 'seen', what: await look() });
      } catch (error) {
        seen.push({ address, outcome: 'failed', what: reasonOf(error) });
      }
    };
    await observe(async () => {
      const { sanitizeCapabilities, commands } = await identify(deps);
      const methods = sanitizeMethods(sanitizeCapabilities).join(', ') || 'no method';
      // OACS bit 1 (NVM Express Base Specification 1.4, 5.15.2.2).
      const format = commands & 0x2 ? 'can' : 'cannot';
      return `Its Sanitize supports ${methods}; it ${format} format.`;
    });
    await observe(async () => `Its sanitize log says: ${(await readSanitizeLog(deps)).state}.`);
    if (boot === 'keep') continue;
    await observe(async () => `It has boot partitions of ${await bootPartitionBytes(deps)} bytes.`);
  }
  return seen;
}

export async function examineNvmeTools(
  { tool: program }: NvmeSettings,
  { hardware }: DriverContext,
): Promise<readonly Observation[]> {
  const tool = { name: 'nvme-cli', program, args: ['version'], releases: nvmeReleases };
  return [await examineToolVersion(hardware, tool)];
}
