// A folder of libvirt's definitions of domains.

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';

export class DomainFolder {
  readonly path = join(mkdtempSync(join(tmpdir(), 'domains-')), 'qemu');

  /** Defines a server with these PCI functions, as Nova does. */
  define(name: string, functions: readonly string[], uuid?: string): this {
    return this.write(`${name}.xml`, definitionOf(name, functions, uuid));
  }

  /** A status as libvirt keeps it of a domain that runs. */
  run(name: string, functions: readonly string[], uuid: string): this {
    const definition = definitionOf(name, functions, uuid);
    return this.write(`${name}.xml`, `<domstatus state='running'>\n${definition}</domstatus>\n`);
  }

  undefine(name: string): this {
    rmSync(join(this.path, `${name}.xml`));
    return this;
  }

  /** Writes as libvirt does: another file takes the name. */
  write(file: string, text: string | Buffer): this {
    mkdirSync(this.path, { recursive: true });
    writeFileSync(join(this.path, `${file}.new`), text);
    renameSync(join(this.path, `${file}.new`), join(this.path, file));
    return this;
  }

  remove(): void {
    rmSync(join(this.path, '..'), { recursive: true, force: true });
  }
}

/** As Nova defines a server. */
export function definitionOf(name: string, functions: readonly string[], uuid = ''): string {
  const devices = functions.map((address) => {
    const { domain, bus, device, function: fn } = parsePciAddress(address) ?? {};
    return `    <hostdev mode='subsystem' type='pci' managed='yes'>
      <source>
        <address domain='0x${domain}' bus='0x${bus}' slot='0x${device}' function='0x${fn}'/>
      </source>
      <address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/>
    </hostdev>
`;
  });
  return `<domain type='kvm'>
  <name>${name}</name>
  <uuid>${uuid}</uuid>
  <metadata>
    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1"/>
  </metadata>
  <devices>
${devices.join('')}  </devices>
</domain>
`;
}
