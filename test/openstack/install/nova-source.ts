// Nova's own files, as the release has them, and with patches of docs/patches.

import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Cloud } from './cloud.ts';
import { computeConfigurationName } from './configuration.ts';

const patches = join(import.meta.dirname, '../../../docs/patches');
const resuming = ['nova/compute/manager.py', 'nova/virt/libvirt/driver.py'];

/** @returns the released file, such as `nova/virt/libvirt/driver.py` */
export async function releasedFile({ plan, processes }: Cloud, file: string): Promise<string> {
  const find =
    "import importlib.util as util, os; print(os.path.dirname(util.find_spec('nova').origin))";
  const command = [plan.release.python, '-s', '-c', find];
  const printed = await processes.run({ name: 'find-nova', command });
  // Warnings of Python come before it.
  return join(dirname(printed.trim().split('\n').at(-1) ?? ''), file);
}

/** Copies these files of Nova below the folder, and applies the patch to them. */
export async function patchFiles(
  cloud: Cloud,
  root: string,
  patch: string,
  files: readonly string[],
): Promise<void> {
  for (const file of files) {
    const copy = join(root, file);
    mkdirSync(dirname(copy), { recursive: true });
    rmSync(copy, { force: true });
    copyFileSync(await releasedFile(cloud, file), copy);
  }
  const command = ['patch', '-d', root, '-p1', '-i', join(patches, patch)];
  await cloud.processes.run({ name: 'patch', command });
}

/**
 * From its next start, nova-compute of the node runs the release with a patch.
 *
 * @returns undoes it
 */
export async function patchCompute(cloud: Cloud, host: string, patch: string): Promise<() => void> {
  const { root, undo } = await linkNova(cloud, host);
  await patchFiles(cloud, root, patch, resuming);
  return undo;
}

/**
 * Gives nova-compute of the node a folder with links to Nova's files, which is on Python's path
 * before the release.
 */
export async function linkNova(cloud: Cloud, host: string) {
  const root = join(cloud.plan.directory, computeConfigurationName(cloud.plan, host));
  const command = ['cp', '-rs', await releasedFile(cloud, 'nova'), join(root, 'nova')];
  await cloud.processes.run({ name: 'link-nova', command });
  return { root, undo: () => rmSync(join(root, 'nova'), { recursive: true }) };
}
