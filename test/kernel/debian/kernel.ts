// Debian's kernel: its packages are fetched and unpacked, never installed.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { apt, aptIn } from '#test/support/suites/debian.ts';
import { suite, unpackBackports } from './qemu.ts';

export interface DebianKernel {
  /** The answer of `uname -r`. */
  readonly release: string;
  /** What the packages have, as if installed there. */
  readonly root: string;
  /** To build modules with `make -C`. */
  readonly headers: string;
  /** The parts of the kernel's source that Debian does not build. */
  readonly source: string;
}

interface Names {
  readonly release: string;
  readonly packages: readonly string[];
  readonly headers: string;
  readonly common: string;
  readonly source: string;
}

/** @param directory keeps one folder for each release */
export function fetchKernel(directory: string): DebianKernel {
  try {
    return fetchNamed(directory, currentNames());
  } catch {
    // A new machine has no lists of packages, and an old list names superseded kernels, which
    // Debian removes.
    apt('update');
    return fetchNamed(directory, currentNames());
  }
}

/**
 * The kernel of Debian's backports, which has the class for uploads of firmware (FW_UPLOAD) that
 * Debian 12's own leaves out. Only its own drivers are used.
 *
 * @throws CannotRun where it cannot be fetched
 */
export function fetchNewerKernel(directory: string): Pick<DebianKernel, 'release' | 'root'> {
  const place = join(directory, 'newer-kernel');
  const root = join(place, 'root');
  const done = join(place, 'fetched');
  if (!existsSync(done)) {
    rmSync(place, { recursive: true, force: true });
    try {
      unpackBackports(place, root, (dependsOn) => {
        const [image] = /linux-image-6\S+/.exec(dependsOn('linux-image-amd64')) ?? [];
        if (image === undefined) throw new Error('it has no linux-image-amd64');
        return [image];
      });
    } catch (error) {
      throw new CannotRun(`it needs the kernel of ${suite}: ${String(error)}`);
    }
    if (!existsSync(join(root, 'lib'))) symlinkSync('usr/lib', join(root, 'lib'));
    writeFileSync(done, '');
  }
  const [release = ''] = readdirSync(join(root, 'lib/modules'));
  execFileSync('/sbin/depmod', ['-b', root, release]);
  return { release, root };
}

function fetchNamed(directory: string, names: Names): DebianKernel {
  const place = join(directory, names.release);
  const root = join(place, 'root');
  const kernel = {
    release: names.release,
    root,
    headers: join(root, 'usr/src', names.headers),
    source: join(place, 'source'),
  };
  const done = join(place, 'fetched');
  if (existsSync(done)) return kernel;
  rmSync(place, { recursive: true, force: true });
  unpack(place, kernel, names);
  writeFileSync(done, '');
  return kernel;
}

function currentNames(): Names {
  const image = dependency('linux-image-amd64', /^linux-image-/);
  const release = image.replace('linux-image-', '');
  const headers = `linux-headers-${release}`;
  const common = dependency(headers, /^linux-headers-.*-common/);
  const kbuild = dependency(headers, /^linux-kbuild-/);
  const source = `linux-source-${release.split('.').slice(0, 2).join('.')}`;
  return { release, headers, common, source, packages: [image, headers, common, kbuild, source] };
}

function dependency(name: string, wanted: RegExp): string {
  const found = dependencies(name).find((each) => wanted.test(each));
  if (found === undefined) throw new Error(`Debian's package ${name} was not found.`);
  return found;
}

function dependencies(name: string): string[] {
  const text = execFileSync('/usr/bin/apt-cache', ['depends', '--important', name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return [...text.matchAll(/^ *\|?Depends: (\S+)$/gm)].flatMap(([, each]) => each ?? []);
}

function unpack(place: string, kernel: DebianKernel, names: Names): void {
  const { root, release, headers, source } = kernel;
  const files = join(place, 'packages');
  for (const each of [files, root, source]) mkdirSync(each, { recursive: true });
  aptIn(files, 'download', ...names.packages);
  for (const file of readdirSync(files)) {
    execFileSync('/usr/bin/dpkg-deb', ['-x', join(files, file), root]);
  }
  rmSync(files, { recursive: true });
  // The package's Makefile names its installed path.
  const common = join(root, 'usr/src', names.common, 'Makefile');
  writeFileSync(join(headers, 'Makefile'), `include ${common}\n`);
  if (!existsSync(join(root, 'lib'))) symlinkSync('usr/lib', join(root, 'lib'));
  execFileSync('/sbin/depmod', ['-b', root, release]);
  const archive = join(root, 'usr/src', `${names.source}.tar.xz`);
  const wanted = ['samples/vfio-mdev', 'drivers/fpga'].map((each) => `${names.source}/${each}`);
  execFileSync('tar', ['-xJf', archive, '-C', source, '--strip-components=1', ...wanted]);
  rmSync(archive);
}
