import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import { type HardwareDeps, openHardware } from '#agent/hardware/port.ts';
import {
  type ChildResult,
  type StartChild,
  startChild,
  type WatchedChild,
} from '#agent/hardware/watched-child.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aSysfsTree, type SysfsTree } from '#test/support/hosts/sysfs.ts';

const shortMs = 300;
let tree: SysfsTree;
const released: number[] = [];
beforeEach(() => {
  tree = aSysfsTree();
});
afterEach(() => {
  for (const descriptor of released.splice(0)) closeSync(descriptor);
  tree.remove();
});

function portOf(given: Partial<HardwareDeps> = {}) {
  return openHardware({ sysfs: openSysfs(tree.root), clock: systemClock, ...given });
}

/** Opening it blocks until another process opens the other end, as a hanging attribute does. */
function addHanging(path: string): void {
  mkdirSync(join(tree.root, path, '..'), { recursive: true });
  execFileSync('mkfifo', [join(tree.root, path)]);
}

/** Opens the other end until the test ends, so that what hangs goes on. */
function release(path: string): void {
  released.push(openSync(join(tree.root, path), constants.O_RDWR | constants.O_NONBLOCK));
}

/** Only what hangs has a short limit; the rest may take long on a slow machine. */
const impatient: StartChild = (given) => {
  const hangs = given.args.some((each) => each.includes('hanging'));
  return startChild({ ...given, ...(hangs && { limitMs: shortMs }) });
};

const textOf = (path: string) => readFileSync(join(tree.root, path), 'utf8');

describe('the helper', () => {
  function aHelper(script: string): string {
    const helper = join(tree.root, 'helper');
    writeFileSync(helper, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return helper;
  }

  it('is given the arguments as they are, without a shell', async () => {
    const helper = aHelper(`printf '%s|' "$@" > ${join(tree.root, 'given')}`);
    await portOf({ helper }).help('a', ['dfl-program', '/dev/dfl-fme.0', '0', 'an image;$(id)']);
    expect(textOf('given')).toBe('dfl-program|/dev/dfl-fme.0|0|an image;$(id)|');
  });

  it.each<[string, string, string]>([
    ['EBUSY', 'the kernel refuses', 'echo "helper: 0: Device or resource busy" >&2; exit 1'],
    ['EIO', 'it says nothing that is known', 'echo nonsense >&2; exit 1'],
    ['EINVAL', 'it does not know the arguments', 'exit 2'],
  ])('fails with %s where %s', async (code, _what, script) => {
    const port = portOf({ helper: aHelper(script) });
    await expect(port.help('a', ['dfl-reset', '/dev/dfl-port.0'])).rejects.toMatchObject({ code });
  });

  it('fails with ENOENT where it is not installed', async () => {
    const port = portOf({ helper: join(tree.root, 'absent') });
    await expect(port.help('a', ['dfl-reset'])).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('reading', () => {
  it('gives an attribute without its newline', async () => {
    tree.write('a/reset_method', 'flr bus\n');
    expect(await portOf().readText('a', 'a/reset_method')).toBe('flr bus');
  });

  it('gives no more bytes than were asked for', async () => {
    tree.write('a/config', Buffer.from([0xff, 0, 1, 2, 3]));
    expect([...(await portOf().readBytes('a', 'a/config', 3))]).toEqual([0xff, 0, 1]);
  });

  it.each(['a/absent', 'a/config/below'])('rejects with the code for %s', async (path) => {
    tree.write('a/config', 'x');
    const code = path === 'a/absent' ? 'ENOENT' : 'ENOTDIR';
    await expect(portOf().readText('a', path)).rejects.toMatchObject({ code });
  });

  it("recovers the kernel's code from the child", async () => {
    mkdirSync(join(tree.root, 'a/directory'), { recursive: true });
    await expect(portOf().readText('a', 'a/directory')).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('refuses a path that leaves the root', async () => {
    await expect(portOf().readText('a', '../etc/passwd')).rejects.toThrow('outside the sysfs root');
  });

  it('is killed at its limit, and the device is usable afterwards', async () => {
    addHanging('a/hanging');
    tree.write('a/fast', 'yes\n');
    const port = portOf({ start: impatient });
    expect(port.healthOf('a')).toMatchObject({ state: 'unknown' });
    await expect(port.readText('a', 'a/hanging')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(port.healthOf('a')).toMatchObject({
      state: 'unhealthy',
      reason: 'is stuck: an operation hangs in the kernel',
    });
    expect(await port.readText('a', 'a/fast')).toBe('yes');
    expect(port.healthOf('a')).toMatchObject({ state: 'healthy' });
  });
});

describe('writing', () => {
  it('replaces the text of an attribute', async () => {
    tree.write('a/sriov_numvfs', '0\n');
    await portOf().writeText('a', 'a/sriov_numvfs', '4\n');
    expect(textOf('a/sriov_numvfs')).toBe('4\n');
  });

  it('makes no file that was absent', async () => {
    await expect(portOf().writeText('a', 'a/absent', '1')).rejects.toMatchObject({
      code: 'ENOENT',
    });
    expect(() => textOf('a/absent')).toThrow('ENOENT');
  });

  it("recovers the kernel's code from the child", async () => {
    // Every write to /dev/full fails.
    const port = openHardware({ sysfs: openSysfs('/dev'), clock: systemClock });
    await expect(port.writeText('a', 'full', '1')).rejects.toMatchObject({ code: 'ENOSPC' });
  });

  it.each(['', 'x'.repeat(4097)])('refuses a text that is no single page', async (text) => {
    tree.write('a/x', '0\n');
    await expect(portOf().writeText('a', 'a/x', text)).rejects.toMatchObject({ code: 'EINVAL' });
    expect(textOf('a/x')).toBe('0\n');
  });

  it('of five devices hangs without delaying a sixth, or a file of the agent', async () => {
    const port = portOf();
    const devices = ['a', 'b', 'c', 'd', 'e'];
    let isHanging = true;
    const hung = devices.map((device) => {
      addHanging(`${device}/create`);
      return port.writeText(device, `${device}/create`, '1').finally(() => {
        isHanging = false;
      });
    });
    const all = Promise.allSettled(hung);
    tree.write('f/x', '0\n');
    await port.writeText('f', 'f/x', '1\n');
    writeFileSync(join(tree.root, 'own'), await port.readText('f', 'f/x'));
    expect([isHanging, textOf('own')]).toEqual([true, '1']);
    for (const device of devices) release(`${device}/create`);
    await all;
  });

  it('waits for the earlier operation on its device', async () => {
    tree.write('a/x', '0\n');
    const port = portOf();
    await Promise.all(['1', '2', '3', '4'].map((text) => port.writeText('a', 'a/x', text)));
    expect(textOf('a/x').trim()).toBe('4');
  });
});

describe('a child that cannot be killed', () => {
  /** Hangs as in state D, until the test ends it; its result is `late`. */
  function unkillable() {
    const ends: (() => void)[] = [];
    const late: ChildResult = { end: 'late', exitCode: -1, stdout: Buffer.alloc(0), stderr: '' };
    const start = (): WatchedChild => ({
      result: Promise.resolve(late),
      gone: new Promise((resolve) => ends.push(resolve)),
    });
    return { start, ends };
  }

  it('makes its device stuck until it has ended', async () => {
    const { start, ends } = unkillable();
    tree.write('a/x', '0\n').write('b/x', '0\n');
    const port = portOf({ start });
    await expect(port.readText('a', 'a/x')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await expect(port.readText('a', 'a/x')).rejects.toThrow('on a hangs in the kernel');
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await expect(port.readText('a', 'a/x')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('leaves other devices as they are, up to a number of such children', async () => {
    const { start, ends } = unkillable();
    for (const device of ['a', 'b', 'c']) tree.write(`${device}/x`, '0\n');
    const port = portOf({ start, limits: { abandonedMax: 2 } });
    const codes = [];
    for (const device of ['a', 'b', 'c']) {
      codes.push(await port.readText(device, `${device}/x`).catch(({ code }) => code as string));
    }
    expect(codes).toEqual(['ETIMEDOUT', 'ETIMEDOUT', 'EAGAIN']);
    expect(ends).toHaveLength(2);
  });
});

describe('reading the starts of many files', () => {
  const nameOf = (index: number) => `d${index}`;
  function addConfigs(count: number) {
    return Array.from({ length: count }, (_, index) => {
      const content = Buffer.from([0xde, 0x10, index & 255, index >> 8, 1, 2]);
      tree.write(`${nameOf(index)}/config`, content);
      return { device: nameOf(index), path: `${nameOf(index)}/config` };
    });
  }

  it('gives each its own, with one child for many', async () => {
    const files = addConfigs(300);
    const reads = await portOf().readStarts(files);
    expect(reads.map((read) => [...(read as Buffer)])).toEqual(
      files.map((_, index) => [0xde, 0x10, index & 255, index >> 8]),
    );
  });

  it('gives the others if one is absent, short, a directory or hangs', async () => {
    const files = addConfigs(7);
    tree.write('d1/config', 'x');
    mkdirSync(join(tree.root, 'd2/directory'));
    addHanging('d4/hanging');
    const given = files.map((file, index) => {
      if (index === 2) return { ...file, path: 'd2/directory' };
      if (index === 3) return { ...file, path: 'd3/absent' };
      return index === 4 ? { ...file, path: 'd4/hanging' } : file;
    });
    const port = portOf({ start: impatient });
    const reads = await port.readStarts(given);
    const shown = reads.map((read) => ('code' in read ? read.code : read.length));
    expect(shown).toEqual([4, 1, 'EISDIR', 'ENOENT', 'ETIMEDOUT', 4, 4]);
    expect(port.healthOf('d4').state).toBe('unhealthy');
    expect(port.healthOf('d5').state).toBe('healthy');
  });

  it('reads files of several lengths in full, the longest first', async () => {
    const [lengths, names] = [
      [256, 64],
      ['long', 'short', 'false', 'last'],
    ];
    const next = `\n==> ${join(tree.root, 'last/config')} <==\n`;
    const contents = [256, 64, 256, 64].map((length) => Buffer.alloc(length, length & 255));
    // A line with the next file's name, where a short file would end.
    contents[2]?.write(next, 64);
    const files = names.map((name, index) => {
      tree.write(`${name}/config`, contents[index] ?? '');
      return { device: name, path: `${name}/config` };
    });
    expect(await portOf().readStarts(files, lengths)).toEqual(contents);
  });

  it('is not fooled by content that looks like the line with a name', async () => {
    const files = addConfigs(3);
    tree.write('d0/config', `\n==> ${join(tree.root, 'd1/config')} <==\nfake`);
    const reads = await portOf().readStarts(files);
    expect(reads.map((read) => (read as Buffer).toString('latin1').slice(0, 2))).toEqual([
      '\n=',
      '\xde\x10',
      '\xde\x10',
    ]);
  });

  it('answers EBUSY for a device that another operation uses', async () => {
    const files = addConfigs(2);
    addHanging('d0/reset');
    const port = portOf();
    const resetting = port.writeText('d0', 'd0/reset', '1').catch(() => {});
    const reads = await port.readStarts(files);
    expect(reads.map((read) => ('code' in read ? read.code : 'read'))).toEqual(['EBUSY', 'read']);
    release('d0/reset');
    await resetting;
  });
});

describe("a vendor's tool", () => {
  it('runs without a shell and without the environment of the agent', async () => {
    const { stdout } = await portOf().exec('a', 'env', []);
    expect(stdout.trim().split('\n').sort()).toEqual([
      'LC_ALL=C',
      'PATH=/usr/bin:/bin:/usr/sbin:/sbin',
    ]);
    const echoed = await portOf().exec('a', 'echo', ['$(id)', ';', '*']);
    expect(echoed.stdout).toBe('$(id) ; *\n');
  });

  it('answers with its exit code and its messages', async () => {
    const { exitCode, stderr } = await portOf().exec('a', 'ls', ['/absent']);
    expect([exitCode, stderr.includes('No such file')]).toEqual([2, true]);
  });

  it.each(['../bin/sh', 'a b', '', 'no-such-tool'])('is refused by the name %j', async (tool) => {
    await expect(portOf().exec('a', tool, [])).rejects.toMatchObject({
      code: tool === 'no-such-tool' ? 'ENOENT' : 'EINVAL',
    });
  });

  it('is killed when it prints too much', async () => {
    await expect(portOf().exec('a', 'yes', [])).rejects.toMatchObject({ code: 'EFBIG' });
  });

  it('is killed at its limit with what it started', async () => {
    const work = portOf().exec('a', 'sh', ['-c', 'sleep 1000 & sleep 1000'], shortMs);
    await expect(work).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });
});
