// One discovery of driver pci in a tree, and the plan of its reports, in a process of its own
// without compiled code, as at the agent's start. Arguments: the tree's root, the allow-list.

import { readFileSync } from 'node:fs';
import { systemClock } from '#agent/clock.ts';
import { pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { createPciDriver } from '#agent/drivers/pci/index.ts';
import { openGuards } from '#agent/guards/guards.ts';
import { noDomains } from '#agent/guards/libvirt/domains.ts';
import { openProc } from '#agent/guards/proc.ts';
import { openHardware } from '#agent/hardware/port.ts';
import { createLog } from '#agent/log.ts';
import { keepMemoryLow } from '#agent/process/low-memory.ts';
import { composeReport, nothingAcknowledged } from '#agent/report/compose-report.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { nothingOffered } from '#test/support/hosts/guarded-host.ts';

export interface Looked {
  readonly devices: number;
  readonly handles: number;
  readonly reports: number;
  readonly cpuMs: number;
}

keepMemoryLow();
const [sysfsRoot = '', allowListText = '[]'] = process.argv.slice(2);
const log = createLog('error', (line) => process.stderr.write(line));
const sysfs = openSysfs(sysfsRoot);
const hardware = openHardware({ sysfs, clock: systemClock });
const driver = createPciDriver({
  clock: systemClock,
  sysfs,
  hardware,
  guards: openGuards({
    sysfs,
    hardware,
    proc: openProc('/proc'),
    ownPid: String(process.pid),
    offeredBefore: nothingOffered,
    readDomains: noDomains,
  }),
  allowList: pciAllowList.parse(JSON.parse(allowListText)),
  log,
});
const discover = createDiscovery({ drivers: [driver], clock: systemClock, log });

const before = cpuTicks();
const found = await discover();
const plan = composeReport(found, nothingAcknowledged, 0);
const ticks = cpuTicks() - before;

const looked: Looked = {
  devices: found.devices.length,
  handles: found.devices.flatMap(({ device }) => device.offers?.attach_handles ?? []).length,
  reports: plan.parts.length,
  cpuMs: ticks * 10,
};
process.stdout.write(JSON.stringify(looked));

/** CPU time of this process and its children, in hundredths of a second. */
function cpuTicks(): number {
  // The name of the process, in parentheses, may contain blanks.
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? [];
  // utime, stime, cutime, cstime
  return fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
}
