// nova.conf as oslo.config reads it, and the JSON of its options in the forms that Nova takes.

import { describe, expect, it } from 'vitest';
import { NovaConfRefused, readNovaConf } from '#core/contracts/nova/nova-conf.ts';
import { readAliases, readDeviceSpecs } from '#core/contracts/nova/pci-forms.ts';
import { readFlavors } from '#operate/import/nova/flavors.ts';

const read = (...texts: string[]) =>
  readNovaConf(texts.map((text, index) => ({ path: `nova-${index}.conf`, text })));

describe('readNovaConf', () => {
  it('has all values of an option, those of deprecated names and earlier files first', () => {
    const first = '[pci]\ndevice_spec = 2\ndevice_spec: 3\npassthrough_whitelist = 1\n';
    const second = '[DEFAULT]\npci_passthrough_whitelist=4\npci_alias = "a"\n[PCI]\nalias = b\n';
    const { deviceSpecs, aliases } = read(first, second);
    expect(deviceSpecs).toEqual(['1', '2', '3', '4']);
    expect(aliases).toEqual(['a', 'b']);
  });

  it('joins continued lines, and leaves comments and unknown options out', () => {
    const text =
      "[pci]\n# alias = no\n; no\nalias = '{}'\ndevice_spec = [{},\n    {}]\n\n[x]\ny = z\n";
    expect(read(text)).toMatchObject({ deviceSpecs: ['[{},\n{}]'], aliases: ['{}'] });
  });

  it('takes the last value of the last file, and the name of today before the old one', () => {
    const first =
      '[devices]\nenabled_vgpu_types = old\n[vgpu_nvidia-35]\ndevice_addresses = a, b\n';
    const second =
      '[devices]\nenabled_vgpu_types = older\nenabled_mdev_types = x\nenabled_mdev_types = nvidia-35\n[mdev_nvidia-35]\nmdev_class=CUSTOM_A\nmax_instances=3\n';
    expect(read(first, second).mdevTypes).toEqual([
      { type: 'nvidia-35', addresses: ['a', 'b'], resourceClass: 'CUSTOM_A', maxInstances: '3' },
    ]);
    expect(read(first).mdevTypes.map(({ type }) => type)).toEqual(['old']);
    expect(read('').mdevTypes).toEqual([]);
  });

  it.each([
    ['[pci]\nalias', 'nova-0.conf, line 2 must be [section], or option = value'],
    ['alias = {}', 'nova-0.conf, line 1 must be'],
    ['[pci]\n\n  {}', 'nova-0.conf, line 3: an indented line must continue a value.'],
    ['\ufeff[pci]\r\nalias = {}', 'nova-0.conf begins with a byte order mark'],
    [Buffer.from('\ufeff[pci]', 'utf16le').toString(), 'begins with a byte order mark'],
    ['[pci]\nalias = {\n# x\n  }', 'nova-0.conf, line 4: an indented line'],
  ])('refuses %j', (text, sentence) => {
    expect(() => read(text)).toThrow(NovaConfRefused);
    expect(() => read(text)).toThrow(sentence);
  });
});

describe('readDeviceSpecs', () => {
  const one = (value: unknown) => readDeviceSpecs([JSON.stringify(value)])[0];

  it.each([
    ['0000:3b:00.0', ['0000', '3b', '00', '0']],
    ['*:0a:00.*', ['*', '0a', '00', '*']],
    [':0a:00.', ['*', '0a', '00', '*']],
    ['a:0.1', ['*', '0a', '00', '1']],
    ['*:*:*.*', undefined],
  ])('reads the address %s', (address, parts) => {
    expect(one({ vendor_id: '10DE', address })).toMatchObject({ vendor: '10de', address: parts });
  });

  it('numbers the values, and the entries of a list', () => {
    const names = readDeviceSpecs(['{}', '[{}, {}]', 'no']).map(({ name }) => name);
    expect(names).toEqual(['spec-1', 'spec-2.1', 'spec-2.2', 'spec-3']);
  });

  it.each([
    [{ physical_network: 'physnet1' }, 'physical_network'],
    [{ physical_network: null }, 'physical_network'],
    [{ remote_managed: 'True' }, 'remote_managed'],
    [{ managed: 'no' }, 'managed=no'],
    [{ one_time_use: true }, 'one_time_use'],
    [{ devname: 'eth0' }, 'devname'],
    [{ address: { bus: '02', function: '[2-7]' } }, 'regular expression'],
  ])('says why %j stays', (value, reason) => {
    expect(one(value)).toMatchObject({ stays: expect.stringContaining(reason) });
  });

  it('keeps nothing with Nova for managed=yes or remote_managed=false', () => {
    expect(one({ managed: 'yes', remote_managed: 'false' })).toMatchObject({ stays: undefined });
  });

  it.each([
    [{ vendor: '10de' }, 'unknown key vendor: allowed are vendor_id, product_id'],
    [{ vendor_id: 'nvidia' }, 'vendor_id must be hexadecimal digits or "*"'],
    [{ address: '0000:3b:00.9' }, 'invalid address 0000:3b:00.9'],
    [{ address: 'a:b:c:d.0' }, 'invalid address'],
    [{ address: '3b:00.0', devname: 'eth0' }, 'address and devname exclude each other'],
    ['text', 'must be a JSON object'],
  ])('refuses %j', (value, fault) => {
    expect(one(value)).toEqual({ name: 'spec-1', fault: expect.stringContaining(fault) });
  });

  it('spells classes and traits as Nova does', () => {
    const given = { resource_class: 'my gpu', traits: 'HW_GPU_API_VULKAN,my-awesome-gpu' };
    expect(one(given)).toMatchObject({
      resourceClass: 'CUSTOM_MY_GPU',
      traits: ['HW_GPU_API_VULKAN', 'CUSTOM_MY_AWESOME_GPU'],
    });
    expect(one({ resource_class: 'pgpu' })).toMatchObject({ resourceClass: 'PGPU' });
  });
});

describe('readAliases', () => {
  it.each([
    ['{"name": "a"', 'alias-1', 'not valid JSON: {"name": "a"'],
    ['{"name": "a"}', 'a', 'must have vendor_id and product_id, or resource_class'],
    ['{"name": "a", "device_type": "type-vdpa"}', 'a', 'device_type must be type-PCI'],
    ['{"name": "a", "vendor": "10de"}', 'a', 'unknown key vendor: allowed are name'],
    ['{"vendor_id": "10de", "product_id": "2235"}', 'alias-1', 'name'],
  ])('refuses %s', (value, name, fault) => {
    expect(readAliases([value])).toEqual([{ name, fault: expect.stringContaining(fault) }]);
  });
});

describe('readFlavors', () => {
  const row = { ID: '1', Name: 'f', RAM: 64, Disk: 1, VCPUs: 1, 'Is Public': true, Swap: '' };

  it('reads properties as an object, and as the text of older clients', () => {
    const text = "pci_passthrough:alias='a:1, b:2', hw:x='y'";
    const object = { 'pci_passthrough:alias': 'a:1, b:2', 'hw:x': 'y' };
    const rows = [text, object, null].map((Properties) => ({ ...row, Properties }));
    expect(readFlavors(JSON.stringify(rows)).map(({ properties }) => properties)).toEqual([
      object,
      object,
      {},
    ]);
  });

  it.each([
    ['no', 'is not valid JSON: it must be what "openstack flavor list --long --all'],
    ['{}', 'is not a list of flavors'],
    [JSON.stringify([{ ...row, RAM: 'much' }]), 'is not a list of flavors (at 0.RAM)'],
  ])('refuses %s', (text, sentence) => {
    expect(() => readFlavors(text)).toThrow(sentence);
  });
});
