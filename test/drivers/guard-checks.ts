// What the kit asks of a driver whose devices are PCI functions: a function that a server or
// another program uses is not offered, and is named with the reason.

import { existsSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { type Check, CheckFailed } from './check.ts';
import type { FixtureHost } from './fixture.ts';
import { Trial } from './trial.ts';

export const guardChecks: readonly Check[] = [
  {
    title: 'discover does not offer a function that a server of libvirt has',
    run: (trial) =>
      refusesInUse(trial, ({ domains }, { address }) => {
        domains.define('instance-0000001f', [address]);
        return () => void domains.undefine('instance-0000001f');
      }),
  },
  {
    title: 'discover does not offer a function that another program has open',
    run: (trial) =>
      refusesInUse(trial, ({ host, proc }, { address, isAttached }) => {
        const group = groupOf(host, address);
        // The parent of an mdev is on the driver that divides it: VFIO has no node of it.
        if (!isAttached || group === undefined) return undefined;
        proc.addProcess(31, { comm: 'qemu-system-x86', open: [`/dev/vfio/${group}`] });
        return () => void proc.removeProcess(31);
      }),
  },
];

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

/** @returns undefined where nothing can use the function so; else the end of the use */
type Use = (trial: Trial, fn: PciFunctionOffered) => (() => void) | undefined;

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
  const end = use(trial, fn);
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
  const { offers, regions } = device;
  const handles = [...(offers ? [offers] : []), ...regions].flatMap((each) => each.attach_handles);
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
