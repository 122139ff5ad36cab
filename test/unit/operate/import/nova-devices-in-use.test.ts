// The planned settings in driver pci of the agent, on a host whose servers still have Nova's
// devices: docs/import.md says what becomes of them.

import { beforeEach, expect, it } from 'vitest';
import { readNovaConf } from '#core/contracts/nova/nova-conf.ts';
import { groupResources, groupTraits } from '#core/domain/profile/device-profile.ts';
import { planNova } from '#operate/import/nova/plan.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const running = '0000:3b:00.0';
const stopped = '0000:5e:00.0';
const host = perTest(aGuardedHost);

beforeEach(() => {
  for (const address of [running, stopped]) {
    // Libvirt leaves a function so while a server has it, and after the server was stopped.
    host.tree.addFunction({ address, vendor: '10de', product: '2235', driver: 'vfio-pci' });
  }
});

const text = `[pci]
device_spec = {"vendor_id": "10de", "product_id": "2235"}
alias = {"name": "a40", "vendor_id": "10de", "product_id": "2235", "device_type": "type-PCI"}
`;
const { settings, profiles } = planNova({
  options: readNovaConf([{ path: 'nova.conf', text }]),
  flavors: undefined,
  stored: undefined,
  mdevTraits: new Map(),
  isMdevAttached: false,
  skipped: new Set(),
});

async function discover() {
  const driver = await host.pciDriver(settings?.pci?.allow_list);
  expect(await driver.plan?.()).toEqual([]);
  return driver.discover();
}

it('does not offer what a running server has, and offers it when QEMU has closed it', async () => {
  const group = host.sysfs.linkName(`bus/pci/devices/${running}/iommu_group`);
  host.proc.addProcess(31, { comm: 'qemu-system-x86', open: [`/dev/vfio/${group}`] });
  const during = await discover();
  expect(Object.keys(during.devices)).toEqual([stopped]);
  expect(during.notOffered).toEqual([
    { address: running, reason: `is open: process 31 (qemu-system-x86) uses /dev/vfio/${group}` },
  ]);
  host.proc.link('31/fd/0', '/dev/null');
  expect(Object.keys((await discover()).devices)).toEqual([running, stopped]);
});

it('does not offer what a stopped server has, and offers it when it has left the host', async () => {
  host.domains.define('instance-0000001f', [stopped]);
  const during = await discover();
  expect(Object.keys(during.devices)).toEqual([running]);
  expect(during.notOffered).toEqual([
    {
      address: stopped,
      reason: 'belongs to a server: the domain instance-0000001f of libvirt has it',
    },
  ]);
  host.domains.undefine('instance-0000001f');
  expect(Object.keys((await discover()).devices)).toEqual([running, stopped]);
});

it('offers what a stopped server has where libvirt has its definitions elsewhere', async () => {
  expect(Object.keys((await discover()).devices)).toEqual([running, stopped]);
});

it('offers devices of the class and with the traits that the profile asks for', async () => {
  const [group = {}] = profiles[0]?.groups ?? [];
  const { devices } = await discover();
  for (const { offers } of Object.values(devices)) {
    expect(groupResources(group)).toEqual({ [offers?.resource_class ?? '']: 1 });
    // The control plane adds this trait to every provider.
    const traits = [...(offers?.traits ?? []), 'OWNER_CYBORG'];
    expect(traits).toEqual(expect.arrayContaining(groupTraits(group, 'required')));
  }
  expect(Object.keys(devices)).toEqual([running, stopped]);
});
