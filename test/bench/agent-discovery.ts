// One discovery of driver pci in a tree, and the plan of its reports, in a process of its own
// without compiled code, as at the agent's start. Arguments: the tree's root, the allow-list.

import { systemClock } from '#agent/clock.ts';
import { composeReport, nothingAcknowledged } from '#agent/compose-report.ts';
import { createDiscovery } from '#agent/discover.ts';
import { createPciDriver } from '#agent/drivers/pci.ts';
import { pciAllowList } from '#agent/drivers/pci-allow-list.ts';
import { createLog } from '#agent/log.ts';
import { keepMemoryLow } from '#agent/low-memory.ts';
import { openSysfs } from '#agent/sysfs/root.ts';

export interface Looked {
  readonly devices: number;
  readonly handles: number;
  readonly reports: number;
  readonly cpuMs: number;
}

keepMemoryLow();
const [sysfsRoot = '', allowListText = '[]'] = process.argv.slice(2);
const log = createLog('error', (line) => process.stderr.write(line));
const driver = createPciDriver({
  sysfs: openSysfs(sysfsRoot),
  allowList: pciAllowList.parse(JSON.parse(allowListText)),
  log,
});
const discover = createDiscovery({ drivers: [driver], clock: systemClock, log });

const before = process.cpuUsage();
const found = await discover();
const plan = composeReport(found, nothingAcknowledged, 0);
const { user, system } = process.cpuUsage(before);

const looked: Looked = {
  devices: found.devices.length,
  handles: found.devices.flatMap(({ device }) => device.offers?.attach_handles ?? []).length,
  reports: plan.parts.length,
  cpuMs: Math.round((user + system) / 1000),
};
process.stdout.write(JSON.stringify(looked));
