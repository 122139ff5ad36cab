// Definitions in libvirt-9.0.0/ are as libvirt 9.0.0 of Debian 12 has written them, of domains
// that were defined with `virsh define` and never started.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readDomain } from '#agent/guards/libvirt/domain-definition.ts';
import { XmlInvalid } from '#agent/guards/libvirt/xml.ts';
import { definitionOf } from '#test/support/hosts/domain-folder.ts';

function written(file: string): string {
  return readFileSync(new URL(`libvirt-9.0.0/${file}`, import.meta.url), 'utf8');
}

describe('definitions that libvirt has written', () => {
  it('name host devices, network cards and NVMe disks, and not the places in the guest', () => {
    expect(readDomain(written('instance-0000001f.xml'))).toMatchObject({
      name: 'instance-0000001f',
      functions: [
        // The disk, the interface; the host devices, managed and not, the last in a long domain.
        ...['0000:5e:00.0', '0000:3b:02.1'],
        ...['0000:c1:00.0', '0000:c1:10.3', '10000:01:00.0'],
      ],
    });
  });

  it('name the NVMe device below a disk, and no SCSI or USB device', () => {
    expect(readDomain(written('disk.xml'))).toMatchObject({
      name: 'backing',
      functions: ['0000:5e:00.1', '0000:3b:02.1'],
    });
  });

  it('may have markup in their names and metadata', () => {
    expect(readDomain(written('names.xml'))).toMatchObject({ name: `a<b&'"x`, functions: [] });
  });
});

/** A definition with these elements in `devices`. */
function withDevices(devices: string): string {
  return `<domain><name>n</name><devices>${devices}</devices></domain>`;
}

function hostdev(address: string): string {
  return withDevices(`<hostdev type='pci'><source>${address}</source></hostdev>`);
}

describe('addresses', () => {
  it.each([
    [`domain='0x0000' bus='0xc1' slot='0x1F' function='0x7'`, '0000:c1:1f.7'],
    [`domain='0' bus='193' slot='31' function='7'`, '0000:c1:1f.7'],
    [`bus='0x01' slot='0x00' function='0x0'`, '0000:01:00.0'],
    [`type='pci' domain='0x10001' bus='0x01' slot='0x00' function='0x0'`, '10001:01:00.0'],
  ])('%s is %s', (attributes, address) => {
    expect(readDomain(hostdev(`<address ${attributes}/>`)).functions).toEqual([address]);
  });

  it.each([
    `domain='0x0000' bus='0x100' slot='0x00' function='0x0'`,
    `domain='0x0000' bus='0xc1' slot='0x20' function='0x0'`,
    `domain='0x0000' bus='0xc1' slot='0x00' function='0x8'`,
    `domain='0x000000000' bus='0xc1' slot='0x00' function='0x0'`,
    `domain='' bus='0xc1' slot='0x00' function='0x0'`,
    `domain='0x0000' bus='-1' slot='0x00' function='0x0'`,
    `domain='0x0000' bus='010' slot='0x00' function='0x0'`,
    `domain='0x0000' bus='0xc1' slot='0x00'`,
  ])('%s is refused', (attributes) => {
    const reason = 'has a PCI address that is not valid';
    expect(() => readDomain(hostdev(`<address ${attributes}/>`))).toThrow(new XmlInvalid(reason));
  });

  it('a host device without one is refused, as what it is cannot be told', () => {
    const reason = 'has a hostdev without an address';
    for (const none of ['', `<address bus='1' device='5'/>`]) {
      expect(() => readDomain(hostdev(none))).toThrow(new XmlInvalid(reason));
    }
  });

  it('elements of the same name elsewhere do not count', () => {
    const device = `<source><address bus='0xc1' slot='0x00' function='0x0'/></source>`;
    const text = `<domain><metadata><devices><hostdev type='pci'>${device}</hostdev></devices>
      <x:devices xmlns:x="u">${device}</x:devices></metadata><name>n</name>
      <description><![CDATA[<devices>${device}</devices>]]></description>
      <devices><!-- <a>${device}</a> --></devices></domain>`;
    expect(readDomain(text)).toMatchObject({ name: 'n', functions: [] });
  });
});

describe('the status of a running domain', () => {
  it('has the definition that the server runs with, beside what else libvirt keeps', () => {
    const uuid = '7D8E9F0A-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
    const mdev = `<hostdev type='mdev'><source><address uuid='${uuid}'/></source></hostdev>`;
    const pci = `<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>`;
    const text = `<domstatus state='running' reason='booted' pid='71'>
      <devices><device alias='hostdev0'/></devices>
      <domain type='kvm' id='1'><name>instance-00000001</name><uuid>${uuid}</uuid><devices>${mdev}
        <hostdev type='pci'><source>${pci}</source></hostdev></devices></domain>
    </domstatus>`;
    expect(readDomain(text)).toEqual({
      name: 'instance-00000001',
      uuid: uuid.toLowerCase(),
      isOfNova: false,
      functions: ['0000:01:00.0'],
      mdevs: [uuid.toLowerCase()],
      state: 'running',
    });
  });
});

it('a domain is of Nova by its metadata, and not by an element of that name elsewhere', () => {
  const text = definitionOf('n', []);
  expect(readDomain(text).isOfNova).toBe(true);
  expect(readDomain(text.replaceAll('metadata>', 'description>')).isOfNova).toBe(false);
});

describe('files that are no definition', () => {
  it.each([
    ['a network', '<network><name>n</name></network>', 'is not of a domain'],
    ['a status without a domain', `<domstatus state='running'/>`, 'has no name'],
    ['without a name', '<domain><name> </name></domain>', 'has no name'],
    ['cut off', definitionOf('n', ['0000:c1:00.0']).slice(0, -10), 'ends within domain'],
  ])('%s is refused', (_what, text, reason) => {
    expect(() => readDomain(text)).toThrow(new XmlInvalid(reason));
  });
});
