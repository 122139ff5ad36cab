// The plan of a move from Nova, with configurations as operators have them.

import { describe, expect, it } from 'vitest';
import { readNovaConf } from '#core/contracts/nova/nova-conf.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { readFlavors } from '#operate/import/nova/flavors.ts';
import { type NovaRequest, planNova } from '#operate/import/nova/plan.ts';
import { flavorCommands, novaLines } from '#operate/import/nova/print-plan.ts';

const a40 = '{"vendor_id": "10de", "product_id": "2235", "address": "0000:3b:00.0"}';
const a40Alias =
  '{"name": "a40", "vendor_id": "10de", "product_id": "2235", "device_type": "type-PF"}';
const vf = '{"vendor_id": "8086", "product_id": "154c"}';
const vfAlias =
  '{"name": "x710", "vendor_id": "8086", "product_id": "154c", "device_type": "type-VF"}';

interface Pci {
  readonly specs?: readonly string[];
  readonly aliases?: readonly string[];
  readonly flavors?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly more?: string;
}

function plan(
  { specs = [], aliases = [], flavors, more = '' }: Pci,
  given: Partial<NovaRequest> = {},
) {
  const lines = [
    '[pci]',
    ...specs.map((each) => `device_spec = ${each}`),
    ...aliases.map((each) => `alias = ${each}`),
    more,
  ];
  const rows = Object.entries(flavors ?? {}).map(([Name, Properties]) => ({
    ID: Name,
    Name,
    RAM: 64,
    Disk: 1,
    VCPUs: 2,
    'Is Public': true,
    Swap: 0,
    Properties,
  }));
  return planNova({
    options: readNovaConf([{ path: 'nova.conf', text: lines.join('\n') }]),
    flavors: flavors && readFlavors(JSON.stringify(rows)),
    stored: undefined,
    mdevTraits: new Map(),
    isMdevAttached: false,
    skipped: new Set(),
    ...given,
  });
}

/** `verdict note` of the row. */
function told({ rows }: ReturnType<typeof plan>, what: string, name: string): string {
  const row = rows.find((each) => each.what === what && each.name === name);
  return `${row?.verdict} ${row?.note}`;
}

const noFlavor = { flavors: {} };
const ownOnly = { 'trait:OWNER_CYBORG': 'required' };

describe('PCI passthrough', () => {
  it('becomes an allow-list, profiles and copies of flavors', () => {
    const { settings, profiles, ...rest } = plan({
      specs: [a40, vf],
      aliases: [a40Alias, vfAlias],
      flavors: {
        plain: { 'hw:cpu_policy': 'dedicated' },
        one: { 'pci_passthrough:alias': 'a40:1', 'hw:pci_numa_affinity_policy': 'legacy' },
        more: { 'pci_passthrough:alias': 'a40:2, x710:1', 'hw:x': "it's" },
      },
    });
    const a40Group = { 'resources:CUSTOM_PCI_10DE_2235': '1', ...ownOnly };
    const vfGroup = { 'resources:CUSTOM_PCI_8086_154C': '1', ...ownOnly };
    expect(settings).toEqual({
      drivers: ['pci'],
      pci: {
        allow_list: [
          {
            vendor_id: '10de',
            product_id: '2235',
            address: '0000:3b:00.0',
            resource_class: 'CUSTOM_PCI_10DE_2235',
          },
          {
            vendor_id: '8086',
            product_id: '154c',
            virtual_functions: true,
            resource_class: 'CUSTOM_PCI_8086_154C',
          },
        ],
      },
    });
    expect(profiles).toEqual([
      { name: 'a40', groups: [a40Group] },
      { name: 'x710', groups: [vfGroup] },
      { name: 'a40-x2-x710', groups: [a40Group, a40Group, vfGroup] },
    ]);
    const create = 'openstack flavor create --vcpus 2 --ram 64 --disk 1';
    expect(flavorCommands({ settings, profiles, ...rest }, '-accel')).toEqual([
      `${create} --property accel:device_profile=a40 one-accel`,
      `${create} --property 'hw:x=it'\\''s' --property accel:device_profile=a40-x2-x710 more-accel`,
    ]);
  });

  it('has the class and traits of device_spec, and the product where the class is shared', () => {
    const shared = '{"vendor_id": "10de", "resource_class": "pgpu", "traits": "big,blue"}';
    const given = { specs: [shared], aliases: [a40Alias.replace('}', ', "traits": "big"}')] };
    const { settings, profiles } = plan(given);
    expect(settings?.pci?.allow_list).toEqual([
      {
        vendor_id: '10de',
        product_id: '2235',
        resource_class: 'PGPU',
        traits: ['CUSTOM_BIG', 'CUSTOM_BLUE'],
      },
    ]);
    const wanted = ['CUSTOM_PCI_PRODUCT_ID_2235', 'CUSTOM_BIG', 'OWNER_CYBORG'];
    expect(profiles[0]?.groups).toEqual([
      {
        'resources:PGPU': '1',
        ...Object.fromEntries(wanted.map((trait) => [`trait:${trait}`, 'required'])),
      },
    ]);
  });

  it('offers virtual functions and whole devices for an alias without device_type', () => {
    const alias = '{"name": "a", "vendor_id": "10de", "product_id": "2235"}';
    const result = plan({ specs: [a40], aliases: [alias], ...noFlavor });
    const [first, second] = result.settings?.pci?.allow_list ?? [];
    expect([first?.virtual_functions, second?.virtual_functions]).toEqual([true, undefined]);
    expect(told(result, 'alias', 'a')).toBe(
      'move profile a; no device_type: virtual functions where a card has them, else the card; no flavor asks for it',
    );
  });

  it('gives aliases that ask for the same one profile', () => {
    const flavors = { f: { 'pci_passthrough:alias': 'gpu:1' } };
    const aliases = [a40Alias, a40Alias.replace('a40', 'gpu')];
    const result = plan({ specs: [a40], aliases, flavors });
    expect(result.profiles.map(({ name }) => name)).toEqual(['a40']);
    expect(told(result, 'alias', 'gpu')).toBe('move profile a40; asks for the same as alias a40');
    expect(told(result, 'flavor', 'f')).toContain('with accel:device_profile=a40');
  });

  it('keeps aliases with Nova that only their device_type tells apart', () => {
    const second = a40Alias.replace('a40', 'vf').replace('type-PF', 'type-VF');
    const result = plan({ specs: [a40], aliases: [a40Alias, second] });
    expect(told(result, 'alias', 'vf')).toContain(
      'stay only device_type distinguishes its devices',
    );
    expect(result.settings?.pci?.allow_list).toHaveLength(1);
  });

  it('needs one class for alternatives of one alias', () => {
    const other = { spec: a40.replace('2235', '1db4'), alias: a40Alias.replace('2235', '1db4') };
    const aliases = [a40Alias, other.alias];
    const result = plan({ specs: [a40, other.spec], aliases });
    expect(told(result, 'alias', 'a40')).toContain('its devices have the classes');
    expect(told(result, 'device_spec', 'spec-1')).toContain(
      'the aliases that ask for it stay: a40',
    );
    expect(result.settings).toBeUndefined();
    const joined = [a40, other.spec].map((each) => each.replace('}', ', "resource_class": "g"}'));
    expect(plan({ specs: joined, aliases }).profiles[0]?.groups).toEqual([
      { 'resources:CUSTOM_G': '1', ...ownOnly },
    ]);
  });

  it('never moves a device that an entry which stays may match, whichever comes first', () => {
    const network = '{"vendor_id": "8086", "address": "*:5e:*.*", "physical_network": "p"}';
    for (const specs of [
      [network, vf],
      [vf, network],
    ]) {
      const result = plan({ specs, aliases: [vfAlias] });
      expect(result.settings).toBeUndefined();
      expect(told(result, 'device_spec', `spec-${specs.indexOf(vf) + 1}`)).toContain(
        'which stays, may match the same devices',
      );
    }
    const apart = vf.replace('}', ', "address": "*:3d:*.*"}');
    expect(plan({ specs: [network, apart], aliases: [vfAlias] }).settings).toBeDefined();
    // The address of a card stands for its virtual functions.
    const card = network.replace('*:5e:*.*', '0000:3d:00.0');
    const ofCard = vf.replace('}', ', "address": "0000:3d:02.1"}');
    expect(plan({ specs: [card, ofCard], aliases: [vfAlias] }).settings).toBeUndefined();
  });

  it.each([
    ['{"numa_policy": "required"}', 'numa_policy required'],
    ['{"live_migratable": "yes"}', 'live_migratable'],
    ['{"product_id": "ffff"}', 'no device_spec of this host matches'],
  ])('keeps an alias with %s', (change, reason) => {
    const alias = JSON.stringify({ ...JSON.parse(a40Alias), ...JSON.parse(change) });
    const flavors = { f: { 'pci_passthrough:alias': 'a40:1' } };
    const result = plan({ specs: [a40], aliases: [alias], flavors });
    expect(told(result, 'alias', 'a40')).toContain(`stay ${reason}`);
    expect(told(result, 'flavor', 'f')).toContain(`stay alias a40 stays: ${reason}`);
    expect(result).toMatchObject({ settings: undefined, profiles: [] });
  });

  it('compares classes of aliases only where the scheduler does', () => {
    const specs = [a40.replace('}', ', "resource_class": "g"}')];
    const more = '[filter_scheduler]\npci_in_placement = true';
    expect(plan({ specs, aliases: [a40Alias] }).profiles).toHaveLength(1);
    expect(told(plan({ specs, aliases: [a40Alias], more }), 'alias', 'a40')).toContain(
      'stay no device_spec of this host matches',
    );
  });

  it('keeps what driver pci cannot offer', () => {
    for (const [more, reason] of [
      [', "resource_class": "VGPU"}', 'not VGPU'],
      [', "traits": "HW_GPU_API_VULKAN"}', 'not HW_GPU_API_VULKAN'],
      [', "managed": "no"}', 'managed=no'],
    ] as const) {
      const result = plan({ specs: [a40.replace('}', more)], aliases: [a40Alias] });
      expect(told(result, 'device_spec', 'spec-1')).toContain(reason);
      expect(result.settings).toBeUndefined();
    }
  });
});

describe('a flavor', () => {
  const of = (properties: Readonly<Record<string, string>>, given?: Partial<NovaRequest>) =>
    told(
      plan({ specs: [a40], aliases: [a40Alias], flavors: { f: properties } }, given),
      'flavor',
      'f',
    );
  const alias = 'pci_passthrough:alias';

  it.each([
    [{ [alias]: 'b:1' }, 'refuse no alias b in nova.conf'],
    [{ [alias]: 'a40' }, 'refuse pci_passthrough:alias a40 must be <alias>:<count>'],
    [{ [alias]: 'a40:33' }, 'refuse The groups ask for 33 accelerators'],
    [{ [alias]: 'a40:1', 'accel:device_profile': 'p' }, 'refuse it has accel:device_profile'],
    [
      { [alias]: 'a40:1', 'hw:pci_numa_affinity_policy': 'socket' },
      'stay hw:pci_numa_affinity_policy=socket',
    ],
    [{ 'resources:VGPU': '1' }, 'stay resources:VGPU: no mdev type of that class moves'],
  ])('with %j: %s', (properties, verdict) => {
    expect(of(properties)).toContain(verdict);
  });

  it('is left out by its name', () => {
    expect(of({ [alias]: 'b:1' }, { skipped: new Set(['f']) })).toContain('skip no alias b');
  });

  it('is refused with its alias', () => {
    const flavors = { f: { [alias]: 'a40:1' } };
    const unknown = a40Alias.replace('{', '{"nome": 1, ');
    const result = plan({ specs: [a40], aliases: [unknown], flavors });
    expect(told(result, 'alias', 'a40')).toContain('refuse unknown key nome');
    const differing = [a40Alias, a40Alias.replace('type-PF', 'type-PCI')];
    const second = plan({ specs: [a40], aliases: differing, flavors });
    expect(told(second, 'alias', 'a40')).toContain('refuse its values differ in device_type');
    expect(told(second, 'flavor', 'f')).toBe('refuse its alias a40 is refused');
  });
});

describe('vGPUs', () => {
  const more = [
    ...['[devices]', 'enabled_mdev_types = nvidia-35, mtty-1'],
    ...['[mdev_nvidia-35]', 'device_addresses = 0000:84:00.0, 0000:85:00.0', 'max_instances = 4'],
    ...['[mdev_mtty-1]', 'device_addresses = 0000:86:00.0', 'mdev_class = CUSTOM_TTY'],
  ].join('\n');
  const attached = { isMdevAttached: true, mdevTraits: new Map([['CUSTOM_NV35', 'nvidia-35']]) };
  const flavors = {
    one: { 'resources:VGPU': '1', 'trait:CUSTOM_RACK': 'required' },
    own: { 'resources1:VGPU': '2', 'trait1:CUSTOM_NV35': 'required' },
    tty: { 'resources_a:CUSTOM_TTY': '1', 'trait_a:CUSTOM_X': 'required' },
    kept: { 'resources:VGPU': '1', 'trait:OWNER_CYBORG': 'forbidden' },
    ports: { 'resources:VGPU': '1', 'hw:pci_numa_affinity_policy': 'required' },
    many: { 'resources:VGPU': 'all' },
  };

  it('stay where Nova does not attach mdevs of accelerator requests', () => {
    const result = plan({ more });
    expect(told(result, 'mdev', 'nvidia-35')).toContain('stay Nova before 34 attaches no mdev');
    expect(result.settings).toBeUndefined();
  });

  it('become pools, profiles and flavors where it does', () => {
    const result = plan({ more, flavors }, attached);
    expect(result.settings).toEqual({
      drivers: ['mdev'],
      mdev: {
        pools: [
          {
            parents: ['0000:84:00.0', '0000:85:00.0'],
            type: 'nvidia-35',
            resource_class: 'VGPU',
            traits: ['CUSTOM_NV35'],
          },
          { parents: ['0000:86:00.0'], type: 'mtty-1', resource_class: 'CUSTOM_TTY' },
        ],
      },
      attach_types: ['PCI', 'MDEV'],
    });
    expect(result.profiles).toEqual([
      { name: 'vgpu', groups: [{ 'resources:VGPU': '1', ...ownOnly }] },
      {
        name: 'vgpu-custom_nv35-x2',
        groups: [{ 'resources:VGPU': '2', ...ownOnly, 'trait:CUSTOM_NV35': 'required' }],
      },
    ]);
    expect(told(result, 'mdev', 'nvidia-35')).toContain('max_instances 4 is lost');
    expect(told(result, 'flavor', 'one')).toBe(
      'move without resources:VGPU; with accel:device_profile=vgpu; trait:CUSTOM_RACK stays',
    );
    expect(told(result, 'flavor', 'own')).toContain('without resources1:VGPU, trait1:CUSTOM_NV35;');
    expect(told(result, 'flavor', 'tty')).toContain(
      'stay trait_a:CUSTOM_X=required: name the type',
    );
    expect(told(result, 'flavor', 'ports')).toContain('move without resources:VGPU;');
    expect(told(result, 'flavor', 'many')).toContain('refuse groups[0]');
    expect(told(result, 'flavor', 'kept')).toContain('without resources:VGPU, trait:OWNER_CYBORG;');
  });

  it.each([
    [
      'device_addresses = 0000:84:00.0',
      'device_addresses = mtty_mtty',
      'stay the parent mtty_mtty',
    ],
    ['0000:86:00.0', '0000:84:00.0', 'refuse 0000:84:00.0 is in device_addresses more than once'],
    ['max_instances', 'mdev_class = VGPUS\nmax_instances', 'refuse mdev_class VGPUS must be'],
    ['device_addresses = 0000:86:00.0', '', 'stay Nova would take its cards for mtty-1'],
    ['device_addresses = 0000:84:00.0, 0000:85:00.0', '', 'stay [mdev_nvidia-35] has no device_'],
  ])('with %s as %j: %s', (before, after, verdict) => {
    const result = plan({ more: more.replace(before, after) }, attached);
    expect(told(result, 'mdev', 'nvidia-35')).toContain(verdict);
  });
});

describe('a profile', () => {
  const stored = (groups: DeviceProfile['groups']) => ({
    stored: [{ uuid: 'u', name: 'a40', groups }] as unknown as DeviceProfile[],
  });
  const given = { specs: [a40], aliases: [a40Alias] };

  it('is present with the same groups, and refused with others', () => {
    const group = { ...ownOnly, 'resources:CUSTOM_PCI_10DE_2235': '1' };
    const present = plan(given, stored([group]));
    expect(told(present, 'profile', 'a40')).toBe('present u');
    expect(present.profiles).toEqual([]);
    expect(told(plan(given, stored([group, group])), 'profile', 'a40')).toContain(
      'refuse a profile of this name with other groups exists: u',
    );
  });

  it('is refused where two need its name', () => {
    const aliases = ['a b', 'a,b'].map((name) => a40Alias.replace('a40', name));
    const specs = [a40, a40.replace('2235', '1db4')];
    const second = aliases[1]?.replace('2235', '1db4') ?? '';
    const result = plan({ specs, aliases: [aliases[0] ?? '', second] });
    expect(told(result, 'profile', 'a-b')).toContain('refuse two aliases or flavors need');
    expect(result.profiles).toEqual([]);
  });
});

it('refuses settings that the agent would not take', () => {
  const spec = '{"resource_class": "g"}';
  const alias = '{"name": "g", "resource_class": "g"}';
  expect(told(plan({ specs: [spec], aliases: [alias] }), 'settings', 'settings')).toContain(
    'must narrow vendor_id, product_id, address or class',
  );
});

it('prints what is refused first', () => {
  const lines = novaLines(plan({ specs: [a40, 'x'], aliases: [a40Alias] }), '-accel');
  expect(lines[1]).toMatch(/^refuse +device_spec +spec-2 +not valid JSON: x$/);
  expect(lines.at(-1)).toBe('3 to move, 0 present, 0 stay with Nova, 0 skipped, 1 refused');
});
