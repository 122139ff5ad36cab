// What driver `nvme` assumes of nvme-cli and of the controllers, and what this host shows of it.

import { reasonOf } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { DriverContext } from './define-driver.ts';
import type { Observation } from './driver.ts';
import { shownControllers } from './nvme-controllers.ts';
import { sanitizeMethods } from './nvme-erase.ts';
import type { NvmeSettings } from './nvme-settings.ts';
import { bootPartitionBytes, identify, readSanitizeLog } from './nvme-tool.ts';

const toolMs = 10_000;

export async function examineNvme(
  { tool, boot_partitions: boot }: NvmeSettings,
  { sysfs, hardware }: DriverContext,
  functions: readonly PciFunction[],
): Promise<readonly Observation[]> {
  const seen: Observation[] = [await examineTool(hardware, tool)];
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

async function examineTool(
  hardware: DriverContext['hardware'],
  tool: string,
): Promise<Observation> {
  try {
    const { stdout } = await hardware.exec('nvme', tool, ['version'], toolMs);
    const [, version] = /\b(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b/.exec(stdout) ?? [];
    return version
      ? { outcome: 'seen', what: `nvme-cli is of version ${version}.` }
      : { outcome: 'failed', what: `${tool} does not tell its version.` };
  } catch (error) {
    return { outcome: 'not seen', what: `${tool} cannot be started: ${reasonOf(error)}.` };
  }
}
