// Nova's own code meets our answers: its libvirt driver, the guide's patch of it, and its tests'
// fixture. No hypervisor is part of it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { patchFiles, releasedFile } from '#test/openstack/install/nova-source.ts';
import { debian } from '#test/openstack/install/releases.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, build, offer, remove, removeCleanly } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';

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

/**
 * Prints what the driver looks up, creates and writes into a guest's XML for ARQs, where libvirt
 * has the mdev and where it lacks it; nothing where Nova attaches no mdevs of ARQs.
 */
const attaching = `
import json, sys, types
import nova.conf
nova.conf.CONF([], project='nova')
import nova.virt.libvirt.driver as module
Driver = module.LibvirtDriver
if not hasattr(Driver, '_allocate_cyborg_mdevs'):
    sys.exit()
class Missing(Exception):
    def get_error_code(self):
        return 'no such node device'
module.libvirt = types.SimpleNamespace(
    libvirtError=Missing, VIR_ERR_NO_NODE_DEVICE='no such node device')
def say(what, text):
    print('SAID ' + json.dumps([what, text]))
for exists in (True, False):
    def look_up(name):
        say('look up', name)
        if not exists:
            raise Missing()
    one = types.SimpleNamespace(
        pgpu_type_mapping={}, pgpu_type_default=None, _host=types.SimpleNamespace(
            device_lookup_by_name=look_up,
            device_create=lambda conf: say('create', conf.to_xml()),
            device_define=lambda conf: types.SimpleNamespace(name=lambda: 'defined'),
            device_set_autostart=lambda device, autostart: None))
    for name in ('_warn_if_nova_managed', '_create_mdev'):
        setattr(one, name, types.MethodType(getattr(Driver, name), one))
    guest = types.SimpleNamespace(add_device=lambda device: say('attach', device.to_xml()))
    Driver._guest_add_mdevs(one, guest, Driver._allocate_cyborg_mdevs(one, json.loads(sys.argv[1])))
`;

type Said = readonly [what: 'look up' | 'create' | 'attach', text: string];

/** What the file says of the two devices. */
async function managedBy({ cloud }: Stage, file: string): Promise<string[]> {
  const command = [cloud.plan.release.python, '-s', '-c', program, file];
  const printed = await cloud.processes.run({ name: 'print-devices', command });
  return [...printed.matchAll(/managed="(\w+)"/g)].map(([, value]) => value ?? '');
}

/** Prints the ARQs of the fixture, unbound and bound. */
const fixture = `
import importlib.util, json, os, sys, types
import nova
stub = types.ModuleType('fixtures')
stub.Fixture = object
sys.modules['fixtures'] = stub
path = os.path.join(os.path.dirname(nova.__file__), 'tests/fixtures/cyborg.py')
spec = importlib.util.spec_from_file_location('cyborg_fixture', path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print('SAID ' + json.dumps(module.get_arqs('fpga')))
`;

type Fields = Readonly<Record<string, unknown>>;

/** The lines that a program marks; Python's warnings come between them. */
async function marked<T>({ cloud }: Stage, name: string, program: string, ...args: string[]) {
  const command = [cloud.plan.release.python, '-s', '-c', program, ...args];
  const printed = await cloud.processes.run({ name, command });
  const lines = printed.split('\n').filter((line) => line.startsWith('SAID '));
  return lines.map((line) => JSON.parse(line.slice(5)) as T);
}

export const novaCode: readonly Scenario[] = [
  {
    name: "accelerator requests have the fields of Nova's own fixture, of the same types",
    run: async (stage) => {
      const [found] = await marked<readonly (readonly Fields[])[]>(stage, 'fixture', fixture);
      const [[unbound], [bound]] = (found ?? assert.fail()) as readonly [[Fields], [Fields]];
      const body = { device_profile_name: 'fpga' };
      const path = '/accelerator_requests';
      const reply = await stage.demo.accelerator.ask('POST', path, body);
      const created = { ...(reply.body.arqs[0] ?? assert.fail()) } as Fields;
      await stage.demo.accelerator.ask('DELETE', `${path}?arqs=${created.uuid}`);
      const ownWithout = Object.keys(unbound).map((key) => [key, created[key]]);
      assert.deepEqual(Object.fromEntries(ownWithout), { ...unbound, uuid: created.uuid });
      const built = await build(stage, 'fpga');
      const [arq] = await assertHas(stage, built, 1);
      await remove(stage, built.id);
      const own = { ...arq } as Fields;
      // The fixture's tests fill in the host, the provider and the instance.
      for (const [key, value] of Object.entries(bound)) {
        assert.equal(typeof own[key], value === null ? 'string' : typeof value, key);
      }
      return Object.keys(bound).join(', ');
    },
  },
  {
    name: 'the libvirt driver of Nova attaches a vGPU whose mdev is there, and makes one that is not',
    run: async (stage) => {
      const { release } = stage.cloud.plan;
      const built = await build(stage, 'fpga-and-vgpu');
      const arqs = await assertHas(stage, built, 2);
      const said = await marked<Said>(stage, 'attach-arqs', attaching, JSON.stringify(arqs));
      await remove(stage, built.id);
      if (said.length === 0) {
        assert.equal(release, debian);
        return `Nova ${release.name} attaches no mdev of an accelerator request`;
      }
      const { attach_handle_uuid: uuid, attach_handle_info: info } =
        arqs.find((arq) => arq.attach_handle_type === 'MDEV') ?? assert.fail();
      const parent = [info.domain, info.bus, info.device, info.function].join('_');
      const whats = said.map(([what]) => what);
      assert.deepEqual(whats, ['look up', 'attach', 'look up', 'create', 'attach']);
      const name = `mdev_${uuid.replaceAll('-', '_')}_${parent}`;
      const textsOf = (what: Said[0]) => said.filter(([each]) => each === what).map(([, t]) => t);
      assert.deepEqual(textsOf('look up'), [name, name]);
      for (const xml of textsOf('attach')) assert.match(xml, new RegExp(`uuid="${uuid}"`));
      const [created = ''] = textsOf('create');
      assert.match(created, new RegExp(`<parent>pci_${parent}</parent>`));
      assert.match(created, new RegExp(`<type id='${info.asked_type}'/>`.replaceAll("'", '[\'"]')));
      assert.match(created, new RegExp(`<uuid>${uuid}</uuid>`));
      return `${name} found; ${created.replaceAll(/\s+/g, ' ')} where it is missing`;
    },
  },
  {
    name: 'vGPUs for the host, or for nothing, are bound and not attached',
    run: async (stage) => {
      const { release } = stage.cloud.plan;
      const notAttached = ['host', 'none'].map((target) => ({
        'resources:VGPU': '1',
        'trait:CUSTOM_ABCD_9B01_FAKE_2': 'required',
        'accel:attach_target': target,
      }));
      await offer(stage, 'not-attached', notAttached);
      const built = await build(stage, 'not-attached');
      const arqs = await assertHas(stage, built, 2);
      const types = arqs.map((arq) => arq.attach_handle_type);
      assert.deepEqual(types, ['TEST_PCI', 'TEST_PCI']);
      const said = await marked<Said>(stage, 'attach-none', attaching, JSON.stringify(arqs));
      assert.deepEqual(said, []);
      await removeCleanly(stage, built.id);
      return `ACTIVE with Nova ${release.name}`;
    },
  },
  {
    name: 'the patch of the guide attaches a device unmanaged, where its attach handle says so',
    run: async (stage) => {
      const { cloud } = stage;
      const root = join(cloud.plan.directory, 'patched');
      await patchFiles(cloud, root, 'nova-unmanaged.patch', [driver]);
      const released = await releasedFile(cloud, driver);
      assert.deepEqual(await managedBy(stage, released), ['yes', 'yes']);
      assert.deepEqual(await managedBy(stage, join(root, driver)), ['yes', 'no']);
      return `applied to Nova ${cloud.plan.release.name}`;
    },
  },
];
