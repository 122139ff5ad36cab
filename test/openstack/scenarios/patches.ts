// Patches of Nova that the operators' guide offers.

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Scenario } from '#test/openstack/scenario.ts';
import type { Stage } from '#test/openstack/stage.ts';

const patch = join(import.meta.dirname, '../../../docs/patches/nova-unmanaged.patch');
const driver = 'nova/virt/libvirt/driver.py';

/** Prints the XML of two devices, which a file of Nova's libvirt driver makes of two ARQs. */
const program = `
import importlib.util, sys, types
import nova.conf
nova.conf.CONF([], project='nova')
spec = importlib.util.spec_from_file_location('nova.virt.libvirt.driver', sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
one = types.SimpleNamespace()
one._set_managed_mode = types.MethodType(module.LibvirtDriver._set_managed_mode, one)
guest = types.SimpleNamespace(add_device=lambda device: print(device.to_xml()))
place = {'domain': '0000', 'bus': '41', 'device': '00', 'function': '4'}
arqs = [{'attach_handle_info': place}, {'attach_handle_info': {**place, 'managed': 'no'}}]
module.LibvirtDriver._guest_add_accel_pci_devices(one, guest, arqs)
`;

/** What the file says of the two devices. */
async function managedBy({ cloud }: Stage, file: string): Promise<string[]> {
  const command = [cloud.plan.release.python, '-s', '-c', program, file];
  const printed = await cloud.processes.run({ name: 'print-devices', command });
  return [...printed.matchAll(/managed="(\w+)"/g)].map(([, value]) => value ?? '');
}

export const patches: readonly Scenario[] = [
  {
    name: 'the patch of the guide attaches a device unmanaged, where its attach handle says so',
    run: async (stage) => {
      const { plan, processes } = stage.cloud;
      const find = 'import nova.virt.libvirt.driver as found; print(found.__file__)';
      const printed = await processes.run({
        name: 'find-driver',
        command: [plan.release.python, '-s', '-c', find],
      });
      // Warnings of Python come before it.
      const released = printed.trim().split('\n').at(-1) ?? '';
      const root = join(plan.directory, 'patched');
      const patched = join(root, driver);
      mkdirSync(dirname(patched), { recursive: true });
      copyFileSync(released, patched);
      await processes.run({ name: 'patch', command: ['patch', '-d', root, '-p1', '-i', patch] });
      assert.deepEqual(await managedBy(stage, released), ['yes', 'yes']);
      assert.deepEqual(await managedBy(stage, patched), ['yes', 'no']);
      return `applied to Nova ${plan.release.name}`;
    },
  },
];
