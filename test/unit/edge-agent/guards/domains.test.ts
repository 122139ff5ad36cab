import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DefinedDomains, openDomains } from '#agent/guards/libvirt/domains.ts';
import { DomainFolder, definitionOf } from '#test/support/hosts/domain-folder.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const first = '0000:c1:00.0';
const second = '0000:c2:00.0';
const folder = perTest(() => new DomainFolder());

function plain({ byFunction, domains: _domains, ...rest }: DefinedDomains) {
  return { ...rest, byFunction: Object.fromEntries(byFunction) };
}

async function readOnce(isNamed = false) {
  return plain(await openDomains({ path: folder.path, isNamed })());
}

describe('the folder of definitions', () => {
  it('is absent on a host without libvirt, where no function is known or unknown', async () => {
    expect(await readOnce()).toEqual({ byFunction: {} });
  });

  it('must exist if the settings name it', async () => {
    const unknown = `${folder.path} is absent`;
    expect(await readOnce(true)).toEqual({ byFunction: {}, unknown });
  });

  it('may be empty', async () => {
    mkdirSync(folder.path);
    expect(await readOnce(true)).toEqual({ byFunction: {}, count: 0 });
  });

  it('that is a file leaves the functions unknown', async () => {
    folder.write('x.xml', '');
    const path = join(folder.path, 'x.xml');
    const unknown = `${path} cannot be read (ENOTDIR)`;
    expect(plain(await openDomains({ path, isNamed: false })())).toEqual({
      byFunction: {},
      unknown,
    });
  });

  it('has other files, which are no definitions', async () => {
    folder.define('a', [first]).write('b.xml.new', '<dom').write('c.txt', 'x');
    mkdirSync(join(folder.path, 'networks'));
    mkdirSync(join(folder.path, 'autostart'));
    expect(await readOnce()).toEqual({ byFunction: { [first]: 'a' }, count: 1 });
  });
});

describe('a definition that cannot be read', () => {
  const fault = async () => {
    folder.define('z', [second]);
    const { byFunction, unknown } = await readOnce();
    // The others count nevertheless.
    expect(byFunction).toEqual({ [second]: 'z' });
    return unknown;
  };

  it.each([
    ['is cut off', definitionOf('a', []).slice(0, 20), 'ends within domain'],
    ['has a document type', '<!DOCTYPE d><domain/>', 'has a document type'],
    ['has more than 1 MiB', `<!--${'x'.repeat(1024 * 1024)}--><domain/>`, 'has more than 1 MiB'],
    ['is not UTF-8', Buffer.from([0x3c, 0xff, 0x3e]), 'is not UTF-8'],
    ['is empty', '', 'has no element'],
  ])('as it %s leaves the functions unknown', async (_what, text, reason) => {
    folder.write('a.xml', text);
    expect(await fault()).toBe(`libvirt's definition a.xml ${reason}`);
  });

  it('as it is a folder leaves the functions unknown', async () => {
    mkdirSync(join(folder.path, 'a.xml'), { recursive: true });
    expect(await fault()).toBe("libvirt's definition a.xml is not a file");
  });

  it('as it is a pipe neither stops the agent nor is passed over', async () => {
    mkdirSync(folder.path);
    execFileSync('mkfifo', [join(folder.path, 'a.xml')]);
    expect(await fault()).toBe("libvirt's definition a.xml is not a file");
  });

  it('has a name that is shown printable and short', async () => {
    folder.write(`\u001b[31m${'n'.repeat(120)}.xml`, '<');
    const shown = `?[31m${'n'.repeat(75)}...`;
    expect(await fault()).toBe(`libvirt's definition ${shown} has an invalid name`);
  });
});

describe('definitions that are read again and again', () => {
  it('cost a fraction of the first look while none changes', async () => {
    const text = readFileSync(new URL('libvirt-9.0.0/instance-0000001f.xml', import.meta.url));
    for (let index = 0; index < 500; index += 1) folder.write(`d${index}.xml`, text);
    const readDomains = openDomains({ path: folder.path, isNamed: false });
    const cost = async () => {
      const before = process.cpuUsage();
      const { count } = await readDomains();
      expect(count).toBe(500);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const all = await cost();
    const none = Math.min(await cost(), await cost(), await cost());
    expect(none).toBeLessThan(all / 2);
  });

  it('show what has changed, come and gone', async () => {
    const readDomains = openDomains({ path: folder.path, isNamed: false });
    const now = async () => Object.fromEntries((await readDomains()).byFunction);
    folder.define('a', [first]);
    expect(await now()).toEqual({ [first]: 'a' });
    // The text has the same length, and its content the same time.
    const before = new Date(0);
    utimesSync(join(folder.path, 'a.xml'), before, before);
    expect(await now()).toEqual({ [first]: 'a' });
    folder.define('a', [second]);
    utimesSync(join(folder.path, 'a.xml'), before, before);
    expect(await now()).toEqual({ [second]: 'a' });
    renameSync(join(folder.path, 'a.xml'), join(folder.path, 'b.xml'));
    expect(await now()).toEqual({ [second]: 'a' });
    folder.undefine('b');
    expect(await now()).toEqual({});
    rmSync(folder.path, { recursive: true });
    expect(await now()).toEqual({});
  });

  it('show a definition again that could not be read before', async () => {
    const readDomains = openDomains({ path: folder.path, isNamed: false });
    folder.write('a.xml', '<domain>');
    expect((await readDomains()).unknown).toBe("libvirt's definition a.xml ends within domain");
    folder.define('a', [first]);
    expect(plain(await readDomains())).toEqual({ byFunction: { [first]: 'a' }, count: 1 });
  });
});
