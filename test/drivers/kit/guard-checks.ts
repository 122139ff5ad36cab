// What the kit asks of a driver whose devices are PCI functions: a function that a server or
// another program uses is not offered, and is named with the reason.

import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { listHandles, type ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { FixtureHost } from '#test/drivers/fixture.ts';
import { Trial } from '#test/drivers/trial.ts';
import type { ProcTree } from '#test/support/hosts/proc-tree.ts';
import { type Check, CheckFailed } from './check.ts';

export const guardChecks: readonly Check[] = [
  checkGuest('that a server of libvirt has', ({ domains }, { address }) => {
    domains.define('instance-0000001f', [address]);
    return () => void domains.undefine('instance-0000001f');
  }),
  checkGuest(
    'whose VFIO node another program has open',
    ({ host, proc }, { address, isAttached }) => {
      const group = groupOf(host, address);
      // The parent of an mdev is on the driver that divides it: VFIO has no node of it.
      return isAttached && group !== undefined ? open(proc, `/dev/vfio/${group}`) : undefined;
    },
  ),
  check('whose other node another program has open', ({ host, proc }, { address }) => {
    const end = [addEntry(host, address, 'dev/char/240:77', { uevent: 'DEVNAME=kit/kit7\n' })];
    end.push(open(proc, '/dev/kit/kit7'));
    return () => end.forEach((each) => void each());
  }),
  check('that has a mounted file system', ({ host, proc }, { address }) => {
    const end = addBlock(host, address);
    proc.write('self/mountinfo', '36 1 259:77 / /srv rw - ext4 /dev/kit7n1 rw\n');
    return () => void [end(), proc.write('self/mountinfo', '')];
  }),
  check('that has swap space', ({ host, proc }, { address }) => {
    const end = addBlock(host, address);
    const header = 'Filename\tType\tSize\tUsed\tPriority\n';
    proc.write('swaps', `${header}/dev/kit7n1\tpartition\t1\t0\t-2\n`);
    return () => void [end(), proc.write('swaps', header)];
  }),
  check('that is part of a volume', ({ host }, { address }) =>
    addBlock(host, address, { 'holders/dm-7': '' }),
  ),
  check('that carries the default route', ({ host, proc }, { address }) => {
    const end = addEntry(host, address, 'class/net/kit7', { ifindex: '77\n' });
    const header = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n';
    proc.write('net/route', `${header}kit7\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n`);
    return () => void [end(), proc.write('net/route', header)];
  }),
  check('that carries a bridge', ({ host }, { address }) =>
    addEntry(host, address, 'class/net/kit7', { ifindex: '77\n', upper_br0: '' }),
  ),
  check('that drives a screen', ({ host }, { address }) =>
    isDisplay(host, address) ? addEntry(host, address, 'class/graphics/fb7', {}) : undefined,
  ),
  check('that has a mediated device', ({ host }, { address }) =>
    addEntry(host, address, 'bus/mdev/devices/4b20d080-1b54-4048-85b3-a6a62d165c01', {}),
  ),
];

/** A function that its driver divides is in use by that driver's own programs. */
function check(what: string, begin: Use['begin']): Check {
  const beginAtWhole: Use['begin'] = (trial, fn) =>
    fn.isAttached && !isDivided(trial.host, fn) ? begin(trial, fn) : undefined;
  return checkUse(what, { begin: beginAtWhole, byHost: true });
}

/** A guest that the agent has not offered the function to; it may be defined before its device. */
function checkGuest(what: string, begin: Use['begin']): Check {
  return checkUse(what, { begin, byHost: false });
}

function checkUse(what: string, use: Use): Check {
  const title = `discover does not offer a function ${what}`;
  return { title, run: (trial) => refusesInUse(trial, use) };
}

/** NVIDIA's driver, in the form that needs no mdevs. */
function isDivided(host: FixtureHost, { address }: PciFunctionOffered): boolean {
  return existsSync(join(pathOf(host, address), 'nvidia'));
}

function open(proc: ProcTree, node: string): () => void {
  proc.addProcess(31, { comm: 'qemu-system-x86', open: [node] });
  return () => void proc.removeProcess(31);
}

function addBlock(
  host: FixtureHost,
  address: string,
  files: Readonly<Record<string, string>> = {},
) {
  return addEntry(host, address, 'class/block/kit7n1', { dev: '259:77\n', ...files });
}

/** An entry of a class, below the function. @returns its end */
function addEntry(
  host: FixtureHost,
  address: string,
  entry: string,
  files: Readonly<Record<string, string>>,
): () => void {
  const folder = join(realpathSync(pathOf(host, address)), 'kit', basename(entry));
  for (const [name, text] of Object.entries({ ...files, kit: '' })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const link = join(realpathSync(host.root), entry);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), folder), link);
  return () => {
    rmSync(link);
    rmSync(dirname(folder), { recursive: true });
  };
}

function isDisplay(host: FixtureHost, address: string): boolean {
  const uevent = readFileSync(join(pathOf(host, address), 'uevent'), 'utf8');
  return /^PCI_CLASS=3/m.test(uevent);
}

/** Devices on a bus that the guards do not know, such as simulated ones, are no PCI functions. */
export async function offersPciFunctions(trial: Trial): Promise<boolean> {
  const { devices } = await trial.discover();
  return devices.some(({ device }) => functionsOf(trial, device).length > 0);
}

interface PciFunctionOffered {
  readonly address: string;
  /** It is an attach handle itself. */
  readonly isAttached: boolean;
}

interface Use {
  /** @returns undefined where nothing can use the function so; else the end of the use */
  readonly begin: (trial: Trial, fn: PciFunctionOffered) => (() => void) | undefined;
  /** Only what exists can be in use by the host. */
  readonly byHost: boolean;
}

/** Each use is on a host of its own, where the agent has offered and made nothing before. */
async function refusesInUse(trial: Trial, use: Use): Promise<void> {
  for (const device of await devicesOf(trial)) {
    for (const fn of functionsOf(trial, device)) {
      const host = new Trial(trial.fixture);
      try {
        await refusesFunction(host, { device, fn, use });
      } finally {
        host.remove();
      }
    }
  }
}

interface InUse {
  readonly device: ReportedDevice;
  readonly fn: PciFunctionOffered;
  readonly use: Use;
}

async function refusesFunction(trial: Trial, { device, fn, use }: InUse): Promise<void> {
  const { address } = fn;
  const isFound = async () =>
    (await devicesOf(trial)).some((each) =>
      functionsOf(trial, each).some((offered) => offered.address === address),
    );
  // The driver has yet to make the virtual functions of some fixtures.
  if (use.byHost && !existsSync(pathOf(trial.host, address))) {
    await trial.start();
    await trial.discover();
  }
  const end = use.begin(trial, fn);
  if (!end) return;
  await trial.start();
  if (await isFound()) {
    throw new CheckFailed(`It offers ${address} while it is in use: ask guards.check().`);
  }
  const { notOffered } = await trial.discover();
  if (!notOffered.some((each) => [device.address, address].includes(each.address))) {
    throw new CheckFailed(`It does not say in notOffered why ${address} is not offered.`);
  }
  end();
  if (!(await isFound())) throw new CheckFailed(`It does not offer ${address} after the use.`);
}

async function devicesOf(trial: Trial): Promise<readonly ReportedDevice[]> {
  const { devices, failedDrivers } = await trial.discover();
  if (failedDrivers.length > 0) throw new CheckFailed('It fails while a device is in use.');
  return devices.map(({ device }) => device);
}

function functionsOf(trial: Trial, device: ReportedDevice): PciFunctionOffered[] {
  const handles = listHandles(device);
  if (handles.length === 0) return [];
  const attached = handles.flatMap(({ type, info }) => {
    const { domain, bus, device: slot, function: fn } = info;
    const parsed = type === 'PCI' && parsePciAddress(`${domain}:${bus}:${slot}.${fn}`);
    return parsed ? [printPciAddress(parsed)] : [];
  });
  const found = attached.map((address) => ({ address, isAttached: true }));
  const all = found.length > 0 ? found : [{ address: device.address, isAttached: false }];
  return all.filter(({ address }) => existsSync(pathOf(trial.host, address)));
}

function pathOf({ root }: FixtureHost, address: string): string {
  return join(root, 'bus/pci/devices', address);
}

function groupOf(host: FixtureHost, address: string): string | undefined {
  const link = join(pathOf(host, address), 'iommu_group');
  return existsSync(link) ? basename(readlinkSync(link)) : undefined;
}
