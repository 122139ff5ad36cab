// What the controllers can do, before their first holder; and what driver `nvme` assumes of
// nvme-cli and of them, and what this host shows of it.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Observation } from '#agent/drivers/contract/driver.ts';
import { examineToolVersion } from '#agent/drivers/contract/tool-version.ts';
import { reasonOf } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { type Ask, type KnownControllers, onlyFor, shownControllers } from './controllers.ts';
import { eraseRefusal, sanitizeMethods } from './erase.ts';
import { nvmeReleases } from './output.ts';
import { isErasing, type NvmeSettings } from './settings.ts';
import { bootPartitionBytes, identify, readSanitizeLog } from './tool.ts';

/** Discovery must end within 30 s, with all devices of a host. */
const askMs = 5_000;

export function askErasure({ tool }: NvmeSettings, context: DriverContext): Ask {
  return async ({ address, name: controller }) => {
    const hardware = onlyFor(context, address, controller);
    const identity = await identify({ hardware, address, controller, tool, limitMs: askMs });
    const { sanitizeCapabilities, commands } = identity;
    return { sanitizeCapabilities, commands };
  };
}

/** Devices that could not be erased after their first holder, by address. */
export function eraseRefusals(
  { clean }: NvmeSettings,
  controllers: KnownControllers,
  functions: readonly PciFunction[],
): ReadonlyMap<string, string> {
  const refusals = new Map<string, string>();
  if (!isErasing(clean)) return refusals;
  for (const [address, reason] of controllers.unasked()) {
    refusals.set(address, `cannot be asked what it can erase: ${reason}`);
  }
  for (const [address, { erasure }] of controllers.factsFor(functions)) {
    const refusal = erasure && eraseRefusal(erasure, clean);
    if (refusal !== undefined) refusals.set(address, refusal);
  }
  return refusals;
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
