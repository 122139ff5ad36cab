// `npm run test:kernel`: the agent, and the interfaces of the kernel that it relies on, on a real
// Linux kernel in VMs without KVM.
//
// --only <words>   plays the groups that have a scenario with one of the words, separated by |, in
//                  its name
// --packages <folder>  keeps the agent's packages there for the next run, in place of new ones

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { skip } from '#test/support/suites/cannot-run.ts';
import { isWanted, ScenarioSuite } from '#test/support/suites/scenario-suite.ts';
import { addPackages } from './agent-packages.ts';
import { type Cloud, startCloud } from './cloud.ts';
import { fetchNewerQemu } from './debian/qemu.ts';
import { fetchSystemd } from './debian/systemd.ts';
import { ensureImage, ensureNewerImage, type Image } from './machine/image.ts';
import { ensureKernelPackages } from './packages.ts';
import { type Group, play, type Scenario } from './scenario.ts';
import { devlink } from './scenarios/devlink.ts';
import { discovery } from './scenarios/discovery.ts';
import { fpgaManager } from './scenarios/drivers/fpga-manager.ts';
import { gpuVf } from './scenarios/drivers/gpu-vf.ts';
import { intelFpga } from './scenarios/drivers/intel-fpga.ts';
import { nic } from './scenarios/drivers/nic.ts';
import { nvidia } from './scenarios/drivers/nvidia.ts';
import { nvmeDevices } from './scenarios/drivers/nvme.ts';
import { qatCards } from './scenarios/drivers/qat.ts';
import { vgpu } from './scenarios/drivers/vgpu.ts';
import { firmwareFirst } from './scenarios/faults/firmware-first.ts';
import { otherCard } from './scenarios/faults/other-card.ts';
import { firmware } from './scenarios/firmware.ts';
import { fpga } from './scenarios/interfaces/fpga.ts';
import { pci } from './scenarios/interfaces/pci.ts';
import { openNodes } from './scenarios/open-nodes.ts';
import { pools } from './scenarios/pools.ts';
import { reboot } from './scenarios/reboot.ts';
import { systemd } from './scenarios/systemd.ts';
import { Stage, type StageOptions } from './stage.ts';

const root = join(import.meta.dirname, '../..');
const cache = join(root, '.local', 'kernel');
const all: readonly Group[] = [
  ...[pci, openNodes, vgpu, fpga, intelFpga, fpgaManager, discovery, nvidia, gpuVf, nvmeDevices],
  ...[pools, nic, devlink, qatCards, firmware, firmwareFirst, otherCard, reboot, systemd],
];

/** The suite takes ten minutes; a machine may be busy with others. */
const suiteMsMax = 20 * 60_000;
const suite = new ScenarioSuite();

async function main(): Promise<void> {
  try {
    ensureKernelPackages();
  } catch (error) {
    skip('the suite test:kernel', error);
    return;
  }
  const groups = chosen();
  if (groups.length === 0) throw new Error('No scenario has one of these words in its name.');
  lockDirectory(cache);
  execFileSync(process.execPath, ['infra/bundle/bundle-agent.ts'], { cwd: root });
  const image = await ensureImage(cache);
  suite.step(`the image is ready: Linux ${image.release}, Node ${process.version}`);
  const cloud = groups.some(({ hostname }) => hostname) ? await openCloud() : undefined;
  for (const group of groups) await playGroup(group, image, cloud);
}

async function openCloud(): Promise<Cloud> {
  const cloud = await startCloud(join(cache, 'cloud'));
  suite.closeAtEnd(cloud.stop);
  suite.step('the local system has started');
  return cloud;
}

async function playGroup(group: Group, image: Image, cloud: Cloud | undefined): Promise<void> {
  const directory = join(cache, 'machines');
  mkdirSync(directory, { recursive: true });
  const parts = fetchParts(group, image);
  if (parts === 'cannot run') return;
  const stage = new Stage({ group, hosts: cloud, cloud, directory, ...parts });
  suite.closeAtEnd(() => stage.powerOff());
  const boots = { name: 'the VM boots', run: () => stage.boot() };
  for (const scenario of [boots, ...group.scenarios]) await count(group, scenario, stage);
  await stage.powerOff();
}

/** What only this group needs. */
function fetchParts(
  group: Group,
  image: Image,
): Pick<StageOptions, 'qemu' | 'system' | 'image'> | 'cannot run' {
  try {
    const system = group.systemd && fetchSystemd(cache);
    if (system) addPackages(system);
    return {
      image: group.newerKernel ? ensureNewerImage(cache, image) : image,
      ...(group.networkCard && { qemu: fetchNewerQemu(cache) }),
      ...(system && { system }),
    };
  } catch (error) {
    skip(`the group ${group.name}`, error);
    return 'cannot run';
  }
}

/** Plays the scenario, prints its outcome and counts it. A lost VM fails all that follow. */
async function count(group: Group, { name, run }: Scenario, stage: Stage): Promise<void> {
  const from = performance.now();
  const isLate = suite.elapsedMs > suiteMsMax;
  let note = '';
  const fault = isLate
    ? `The suite has not ended within ${suiteMsMax / 60_000} minutes.`
    : await play(
        async () => {
          note = (await run(stage)) ?? '';
        },
        () => stage.powerOff(),
      );
  const seconds = (performance.now() - from) / 1000;
  const hasPassed = fault === undefined;
  suite.report({ name: `${group.name}: ${name}`, seconds, hasPassed, note: fault ?? note });
}

function chosen(): readonly Group[] {
  // Later scenarios of a group need what earlier ones have left.
  return all.filter(({ name, scenarios }) =>
    scenarios.some((scenario) => isWanted(`${name}: ${scenario.name}`)),
  );
}

await suite.run(main, { lastStep: `the logs of the VMs are in ${join(cache, 'machines')}` });
