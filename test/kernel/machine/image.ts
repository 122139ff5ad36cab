// Makes what the VM boots: Debian's kernel, and an initramfs with Node, Debian's drivers, the
// kernel's own mdev sample and FPGA drivers, which Debian leaves out, and the modules of this
// suite.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';
import { type DebianKernel, fetchKernel, fetchNewerKernel } from '#test/kernel/debian/kernel.ts';

export interface Image {
  readonly kernel: string;
  readonly initramfs: string;
  readonly release: string;
}

const suite = join(import.meta.dirname, '..');
const root = join(suite, '../..');

/** Debian's drivers; their dependencies come with them. */
const drivers = [
  ...['virtio_pci', 'virtio_net', 'virtio_blk', 'virtio_console', 'virtio_crypto'],
  ...[
    'aer_inject',
    'e1000e',
    'igb',
    'igbvf',
    'ext4',
    'nvme',
    'vfio-pci',
    'vfio_iommu_type1',
    'mdev',
    'pci-stub',
  ],
  ...['9p', '9pnet_virtio'],
];

/** Built from the kernel's source. */
const fpgaDrivers = [
  ...['fpga-mgr', 'fpga-bridge', 'fpga-region'],
  ...['dfl', 'dfl-pci', 'dfl-fme', 'dfl-fme-mgr', 'dfl-fme-br', 'dfl-fme-region', 'dfl-afu'],
];

/** Does nothing if the image is up to date. @param directory of the cache */
export async function ensureImage(directory: string): Promise<Image> {
  mkdirSync(directory, { recursive: true });
  const kernel = fetchKernel(directory);
  const image = {
    kernel: join(kernel.root, 'boot', `vmlinuz-${kernel.release}`),
    initramfs: join(directory, 'initramfs'),
    release: kernel.release,
  };
  const stamp = join(directory, 'stamp');
  const wanted = fingerprint(kernel);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return image;
  rmSync(stamp, { force: true });
  const modules = join(directory, kernel.release, 'modules');
  const names = buildModules(kernel, modules);
  const tree = join(directory, 'tree');
  rmSync(tree, { recursive: true, force: true });
  addPrograms(tree);
  await addCommands(tree);
  addModules(
    tree,
    kernel,
    names.map((name) => join(modules, `${name}.ko`)),
  );
  pack(tree, image.initramfs);
  rmSync(tree, { recursive: true });
  writeFileSync(stamp, wanted);
  return image;
}

/** Debian's backports; the kernel's own test module tries the class `firmware`. */
const newerDrivers = [
  ...['virtio_pci', 'virtio_net', 'virtio_blk', 'virtio_console', 'ext4'],
  ...['vfio-pci', 'vfio_iommu_type1', 'test_firmware'],
];

/** The same image with the kernel of Debian's backports and its own drivers alone. */
export function ensureNewerImage(directory: string, image: Image): Image {
  const kernel = fetchNewerKernel(directory);
  const newer = {
    kernel: join(kernel.root, 'boot', `vmlinuz-${kernel.release}`),
    initramfs: join(directory, 'initramfs-newer'),
    release: kernel.release,
  };
  const stamp = join(directory, 'stamp-newer');
  const wanted = `${readFileSync(join(directory, 'stamp'), 'utf8')} ${kernel.release}`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return newer;
  rmSync(stamp, { force: true });
  const tree = join(directory, 'tree-newer');
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  const unpack = 'cpio --extract --make-directories --quiet <"$0"';
  execFileSync('/bin/sh', ['-c', unpack, image.initramfs], { cwd: tree });
  rmSync(join(tree, 'lib/modules'), { recursive: true });
  addModules(tree, kernel, [], newerDrivers);
  pack(tree, newer.initramfs);
  rmSync(tree, { recursive: true });
  writeFileSync(stamp, wanted);
  return newer;
}

/** Changes with whatever the image is made of. */
function fingerprint({ release }: DebianKernel): string {
  const hash = createHash('sha256').update(release).update(process.version);
  const folders = [join(suite, 'guest'), join(suite, 'modules')];
  const helper = join(root, 'edge-agent/helper/helper.c');
  const named = folders.flatMap((each) => readdirSync(each).map((name) => join(each, name)));
  const files = [helper, ...named];
  for (const file of [...files.sort(), import.meta.filename]) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/** Returns the names of the modules. What is built already and has not changed is kept. */
function buildModules(kernel: DebianKernel, directory: string): readonly string[] {
  const sources = [
    join(kernel.source, 'samples/vfio-mdev/mtty.c'),
    ...filesIn(join(kernel.source, 'drivers/fpga')).filter((file) => /\.[ch]$/.test(file)),
    ...filesIn(join(suite, 'modules')),
  ];
  mkdirSync(directory, { recursive: true });
  for (const file of sources) copyIfChanged(file, join(directory, basename(file)));
  const own = readdirSync(join(suite, 'modules')).map((file) => file.replace(/\.c$/, ''));
  // Two of the drivers consist of several files.
  const makefile = readFileSync(join(kernel.source, 'drivers/fpga/Makefile'), 'utf8');
  const parts = makefile.match(/^dfl-(fme|afu)-objs.*$/gm) ?? [];
  const names = ['mtty', ...fpgaDrivers, ...own];
  const objects = names.map((name) => `obj-m += ${name}.o`);
  writeFileSync(join(directory, 'Kbuild'), [...objects, ...parts, ''].join('\n'));
  // Type information (BTF) would need one more program.
  const settings = [`M=${directory}`, 'CC=gcc', 'CONFIG_DEBUG_INFO_BTF_MODULES='];
  const jobs = `-j${availableParallelism()}`;
  const made = spawnSync('make', [jobs, '-C', kernel.headers, ...settings, 'modules'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (made.status !== 0) {
    const lines = `${made.stdout}${made.stderr}`.split('\n');
    const errors = lines.filter((line) => /error|undefined/i.test(line)).slice(0, 20);
    throw new Error(`The modules cannot be built:\n${errors.join('\n')}`);
  }
  return names;
}

/** make compares times. */
function copyIfChanged(from: string, to: string): void {
  const isSame = existsSync(to) && readFileSync(to).equals(readFileSync(from));
  if (!isSame) copyFileSync(from, to);
}

function filesIn(directory: string): string[] {
  return readdirSync(directory).map((name) => join(directory, name));
}

function addPrograms(tree: string): void {
  const empty = ['dev', 'proc', 'sys', 'tmp', 'root', 'etc', 'usr/bin', 'lib/firmware'];
  for (const each of [...empty, 'bin', 'usr/local/bin', 'var/lib/cyborg-agent']) {
    mkdirSync(join(tree, each), { recursive: true });
  }
  // Where the kernel looks for modprobe.
  symlinkSync('bin', join(tree, 'sbin'));
  copyFileSync(join(suite, 'guest/init'), join(tree, 'init'));
  copyFileSync('/bin/busybox', join(tree, 'bin/busybox'));
  const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const each of applets.filter((name) => name !== 'busybox')) {
    symlinkSync('busybox', join(tree, 'bin', each));
  }
  addProgram(tree, process.execPath, 'usr/bin/node');
  addProgram(tree, '/usr/sbin/nvme', 'usr/sbin/nvme');
  addProgram(tree, '/usr/bin/flock', 'usr/bin/flock');
  // In front of the one of busybox.
  addProgram(tree, '/bin/ip', 'usr/bin/ip');
  addProgram(tree, '/sbin/devlink', 'usr/sbin/devlink');
  const calls = join(tree, 'usr/local/bin/kernel-calls');
  const source = join(suite, 'guest/kernel-calls.c');
  execFileSync('gcc', ['-O2', '-Wall', '-Werror', '-static', '-o', calls, source]);
  mkdirSync(join(tree, 'usr/lib/cyborg-agent'), { recursive: true });
  const helper = join(tree, 'usr/lib/cyborg-agent/helper');
  execFileSync(process.execPath, ['infra/bundle/build-helper.ts', helper], { cwd: root });
}

/** With the libraries that it is linked with. */
function addProgram(tree: string, file: string, target: string): void {
  mkdirSync(join(tree, dirname(target)), { recursive: true });
  copyFileSync(file, join(tree, target));
  const libraries = execFileSync('ldd', [file], { encoding: 'utf8' });
  for (const [library] of libraries.matchAll(/\/\S+/g)) {
    mkdirSync(join(tree, dirname(library)), { recursive: true });
    copyFileSync(library, join(tree, library));
  }
}

async function addCommands(tree: string): Promise<void> {
  await build({
    entryPoints: [join(suite, 'guest/commands.ts')],
    outfile: join(tree, 'commands.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
  });
}

function addModules(
  tree: string,
  { root, release }: Pick<DebianKernel, 'root' | 'release'>,
  built: readonly string[],
  names: readonly string[] = drivers,
): void {
  const target = join(tree, 'lib/modules', release);
  mkdirSync(join(target, 'extra'), { recursive: true });
  const wanted = new Set(
    names.flatMap((name) => {
      const args = ['-d', root, '-S', release, '-D', name];
      const steps = execFileSync('/sbin/modprobe', args, { encoding: 'utf8' });
      return [...steps.matchAll(/^insmod (\S+)/gm)].flatMap(([, file]) => file ?? []);
    }),
  );
  for (const file of wanted) {
    const [, path = ''] = file.split(`/modules/${release}/`);
    mkdirSync(join(target, dirname(path)), { recursive: true });
    copyFileSync(file, join(target, path));
    // busybox loads no compressed modules.
    if (path.endsWith('.xz')) execFileSync('xz', ['--decompress', join(target, path)]);
  }
  for (const file of built) {
    const stripped = join(target, 'extra', basename(file));
    execFileSync('strip', ['--strip-debug', '-o', stripped, file]);
  }
  for (const name of ['modules.builtin', 'modules.builtin.modinfo', 'modules.order']) {
    copyFileSync(join(root, 'lib/modules', release, name), join(target, name));
  }
  execFileSync('/sbin/depmod', ['-b', tree, release]);
}

function pack(tree: string, file: string): void {
  const script = 'find . | cpio --create --format=newc --owner=0:0 --quiet >"$0"';
  execFileSync('/bin/sh', ['-c', script, file], { cwd: tree });
  if (statSync(file).size === 0) throw new Error('The initramfs is empty.');
}
