// The two ways to the host, sysfs and the hardware port, with a fault in one file, with writes
// that fail or hang, and with a death of the agent at one write.

import { readFileSync, writeFileSync } from 'node:fs';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { openSysfs, type Sysfs } from '#agent/sysfs/root.ts';
import type { FixtureHost } from './fixture.ts';

export const fileFaults = [
  'is missing',
  'vanishes once',
  'cannot be read (EACCES)',
  'cannot be read (EIO)',
  'is truncated',
  'is hostile',
] as const;
type FileFault = (typeof fileFaults)[number];

/** Found in no report: a text that leaves the tree, ends the line and is markup. */
const hostileText = '../../hostile\n<b>"\u0000$(reboot)';
const hostileLong = `${hostileText}${'A'.repeat(4000)}`;

export interface Faults {
  file?: { readonly path: string; readonly fault: FileFault };
  /** The error code of the next write. */
  write?: string | undefined;
  /** Writes to these devices do not end; `any` for all. */
  hangs?: readonly string[] | 'any';
  /** No program of a vendor is installed, and the agent's helper is not. */
  withoutPrograms?: boolean;
  /** Called for each write, before and after its effect; does not end if the agent has died. */
  step: (what: string) => Promise<void>;
}

export interface FaultyHost {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly faults: Faults;
  /** Files that were read. */
  readonly read: Set<string>;
  /** Texts that were written, by their files. */
  readonly written: string[];
  /** Programs that were run, and `helper`. */
  readonly programs: Set<string>;
  /** Resolves when a write hangs. */
  readonly hung: Promise<void>;
}

export function faultyHost(host: FixtureHost): FaultyHost {
  const faults: Faults = { step: async () => {} };
  const read = new Set<string>();
  const written: string[] = [];
  const programs = new Set<string>();
  const seen = new Set<FileFault>();
  let tellHung = () => {};
  const hung = new Promise<void>((resolve) => {
    tellHung = resolve;
  });
  const faultOf = (path: string): FileFault | undefined => {
    read.add(path);
    const { file } = faults;
    if (file?.path !== path) return undefined;
    if (file.fault !== 'vanishes once') return file.fault;
    const isFirst = !seen.has(file.fault);
    seen.add(file.fault);
    return isFirst ? 'is missing' : undefined;
  };
  const sysfs = faultySysfs(openSysfs(host.root), faultOf);
  const plain = treeHardware(host);

  async function ofFile<T>(path: string, get: () => Promise<T>, cut: (value: T) => T, bad: T) {
    const fault = faultOf(path);
    const code = fault && codeOf(fault);
    if (code) throw new HardwareError(code, `${path} cannot be read`);
    if (fault === 'is hostile') return bad;
    const value = await get();
    return fault === 'is truncated' ? cut(value) : value;
  }
  const readBytes: Hardware['readBytes'] = (device, path, count) => {
    const half = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);
    const bad = Buffer.from(hostileLong).subarray(0, count);
    return ofFile(path, () => plain.readBytes(device, path, count), half, bad);
  };
  const hardware: Hardware = {
    ...plain,
    readBytes,
    readText: (device, path) => {
      const half = (text: string) => text.slice(0, text.length / 2);
      return ofFile(path, () => plain.readText(device, path), half, hostileLong);
    },
    readStarts: (files, lengths = [4]) =>
      Promise.all(
        files.map(({ device, path }) =>
          readBytes(device, path, Math.max(...lengths)).catch((error: HardwareError) => error),
        ),
      ),
    writeText: (device, path, text, limitMs) =>
      writing(device, `${path} ${text}`, () => plain.writeText(device, path, text, limitMs)),
    isInstalled: (tool) => !faults.withoutPrograms && plain.isInstalled(tool),
    exec: async (device, tool, args, limitMs) => {
      mustHave(tool);
      const exec = () => plain.exec(device, tool, args, limitMs);
      return host.isReading?.(tool, args)
        ? await looking(device, exec)
        : await writing(device, `${tool} ${args.join(' ')}`, exec);
    },
    help: async (device, args, limitMs) => {
      mustHave('helper');
      return await writing(device, args.join(' '), () => plain.help(device, args, limitMs));
    },
  };
  const mustHave = (program: string) => {
    programs.add(program);
    if (faults.withoutPrograms) throw new HardwareError('ENOENT', `${program} is not installed`);
  };
  async function writing<T>(device: string, what: string, effect: () => Promise<T>): Promise<T> {
    await faults.step(`before ${what}`);
    if (faults.hangs === 'any' || faults.hangs?.includes(device)) {
      tellHung();
      await new Promise(() => {});
    }
    const code = faults.write;
    faults.write = undefined;
    if (code) throw new HardwareError(code, what);
    written.push(what);
    const result = await effect();
    await faults.step(`after ${what}`);
    return result;
  }
  /** Refuses to look while an earlier operation on the device hangs, as the port does. */
  async function looking<T>(device: string, look: () => Promise<T>): Promise<T> {
    if (faults.hangs?.includes(device)) throw new HardwareError('EBUSY', `${device} hangs`);
    return await look();
  }
  return { sysfs, hardware, faults, read, written, programs, hung };
}

function codeOf(fault: FileFault): string | undefined {
  if (fault === 'is missing') return 'ENOENT';
  return /\((\w+)\)$/.exec(fault)?.[1];
}

function faultySysfs(plain: Sysfs, faultOf: (path: string) => FileFault | undefined): Sysfs {
  const of = <T>(path: string, get: () => T, cut: (value: T) => T, bad: () => T) => {
    const fault = faultOf(path);
    const code = fault && codeOf(fault);
    if (code === 'ENOENT') return undefined;
    if (code) throw Object.assign(new Error(`${code}: ${path}`), { code });
    if (fault === 'is hostile') return bad();
    return fault === 'is truncated' ? cut(get()) : get();
  };
  const linkTarget = (path: string) =>
    of(
      path,
      () => plain.linkTarget(path),
      asIs,
      () => '../../../../hostile target',
    );
  return {
    ...plain,
    list: (path) =>
      of(
        path,
        () => plain.list(path),
        (names) => names?.slice(0, names.length / 2),
        () => [...(plain.list(path) ?? []), 'hostile name', 'x'.repeat(255), '0000:ff:1f.7'],
      ),
    readAttribute: (path) =>
      of(
        path,
        () => plain.readAttribute(path),
        (text) => text?.slice(0, text.length / 2),
        () => hostileLong,
      ),
    linkTarget,
    linkName: (path) => {
      const target = linkTarget(path);
      return target?.slice(target.lastIndexOf('/') + 1);
    },
    resolve: (path) => {
      const resolved = of(
        path,
        () => plain.resolve(path),
        asIs,
        () => plain.resolve(path),
      );
      if (resolved) return resolved;
      throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    },
  };
}

function asIs<T>(value: T): T {
  return value;
}

/** The kernel's side that the fixture has; for the rest the files of the tree. */
function treeHardware(host: FixtureHost): Hardware {
  const tree = openSysfs(host.root);
  const at = (path: string) => {
    try {
      return tree.resolve(path);
    } catch (error) {
      throw new HardwareError((error as NodeJS.ErrnoException).code ?? 'EINVAL', path);
    }
  };
  const readBytes: Hardware['readBytes'] = async (_device, path, count) =>
    readFileSync(at(path)).subarray(0, count);
  return {
    readBytes,
    readText: async (_device, path) => readFileSync(at(path), 'latin1').trimEnd(),
    readProc: async (_device, path) => {
      throw new HardwareError('ENOENT', `${path} is absent`);
    },
    readStarts: (files, lengths = [4]) =>
      Promise.all(files.map(({ device, path }) => readBytes(device, path, Math.max(...lengths)))),
    writeText: async (_device, path, text) => writeFileSync(at(path), text),
    exec: async (_device, tool) => {
      throw new HardwareError('ENOENT', `${tool} is not installed`);
    },
    help: async (_device, args) => {
      throw new HardwareError('ENOENT', `no helper for ${args[0]}`);
    },
    isInstalled: () => true,
    healthOf: () => ({ state: 'healthy', reason: '', since: new Date(0).toISOString() }),
    ...host.hardware,
  };
}
