// `npm run test:kernel`: the agent, and the interfaces of the kernel that it relies on, on a real
// Linux kernel in VMs without KVM.
//
// --only <words>   plays the groups that have a scenario with one of the words, separated by |, in
//                  its name

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { type Cloud, startCloud } from './cloud.ts';
import { fetchNewerQemu, type Qemu } from './debian-qemu.ts';
import { ensureImage, type Image } from './image.ts';
import { CannotRun, ensurePackages } from './packages.ts';
import { type Group, play, type Scenario } from './scenario.ts';
import { discovery } from './scenarios/discovery.ts';
import { fpga } from './scenarios/fpga.ts';
import { fpgaManager } from './scenarios/fpga-manager.ts';
import { gpuVf } from './scenarios/gpu-vf.ts';
import { intelFpga } from './scenarios/intel-fpga.ts';
import { nic } from './scenarios/nic.ts';
import { nvidia } from './scenarios/nvidia.ts';
import { nvmeDevices } from './scenarios/nvme.ts';
import { pci } from './scenarios/pci.ts';
import { qatCards } from './scenarios/qat.ts';
import { reboot } from './scenarios/reboot.ts';
import { vgpu } from './scenarios/vgpu.ts';
import { Stage } from './stage.ts';

const root = join(import.meta.dirname, '../..');
const cache = join(root, '.local', 'kernel');
const all: readonly Group[] = [
  ...[pci, vgpu, fpga, intelFpga, fpgaManager, discovery, nvidia, gpuVf, nvmeDevices],
  ...[nic, qatCards, reboot],
];

/** The suite takes three minutes; a machine may be busy with others. */
const suiteMsMax = 20 * 60_000;
const startedAt = performance.now();
const counts = { passed: 0, failed: 0 };
const closing: (() => Promise<void>)[] = [];

async function main(): Promise<void> {
  try {
    ensurePackages();
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    console.log(`SKIPPED: the suite test:kernel cannot run on this machine: ${error.message}.`);
    return;
  }
  const groups = chosen();
  if (groups.length === 0) throw new Error('No scenario has one of these words in its name.');
  lockDirectory(cache);
  const image = await ensureImage(cache);
  step(`the image is ready: Linux ${image.release}, Node ${process.version}`);
  const cloud = groups.some(({ hostname }) => hostname) ? await openCloud() : undefined;
  for (const group of groups) await playGroup(group, image, cloud);
}

async function openCloud(): Promise<Cloud> {
  execFileSync(process.execPath, ['infra/bundle-agent.ts'], { cwd: root });
  const cloud = await startCloud(join(cache, 'cloud'));
  closing.push(cloud.stop);
  step('the local system has started');
  return cloud;
}

async function playGroup(group: Group, image: Image, cloud: Cloud | undefined): Promise<void> {
  const directory = join(cache, 'machines');
  mkdirSync(directory, { recursive: true });
  const qemu = group.networkCard && newerQemu(group);
  if (qemu === 'cannot run') return;
  const stage = new Stage({ group, image, hosts: cloud, cloud, directory, ...(qemu && { qemu }) });
  closing.push(() => stage.powerOff());
  const boots = { name: 'the VM boots', run: () => stage.boot() };
  for (const scenario of [boots, ...group.scenarios]) await count(group, scenario, stage);
  await stage.powerOff();
}

function newerQemu({ name }: Group): Qemu | 'cannot run' {
  try {
    return fetchNewerQemu(cache);
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    console.log(`SKIPPED: the group ${name} cannot run on this machine: ${error.message}.`);
    return 'cannot run';
  }
}

/** Plays the scenario, prints its outcome and counts it. A lost VM fails all that follow. */
async function count(group: Group, { name, run }: Scenario, stage: Stage): Promise<void> {
  const from = performance.now();
  const isLate = from - startedAt > suiteMsMax;
  const fault = isLate
    ? `The suite has not ended within ${suiteMsMax / 60_000} minutes.`
    : await play(
        () => run(stage),
        () => stage.powerOff(),
      );
  const mark = fault === undefined ? 'ok    ' : 'FAILED';
  const seconds = `${((performance.now() - from) / 1000).toFixed(1)} s`;
  console.log(`${mark} ${seconds.padStart(7)}  ${group.name}: ${name}`);
  if (fault !== undefined) console.log(fault.replaceAll(/^/gm, ' '.repeat(16)));
  counts[fault === undefined ? 'passed' : 'failed'] += 1;
}

function chosen(): readonly Group[] {
  const at = process.argv.indexOf('--only');
  const words = (at < 0 ? '' : (process.argv[at + 1] ?? '')).split('|');
  const isWanted = (name: string) => words.some((word) => name.includes(word));
  // Later scenarios of a group need what earlier ones have left.
  return all.filter(({ name, scenarios }) =>
    scenarios.some((scenario) => isWanted(`${name}: ${scenario.name}`)),
  );
}

function step(sentence: string): void {
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  console.log(`${seconds.padStart(14)}  ${sentence}`);
}

async function end(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void end().finally(() => process.exit(1)));
}

try {
  await main();
} catch (error) {
  counts.failed++;
  console.error(error);
} finally {
  await end();
}
step(`the logs of the VMs are in ${join(cache, 'machines')}`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
