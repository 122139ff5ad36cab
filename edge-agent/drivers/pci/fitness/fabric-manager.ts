// What this host shows of NVIDIA's Fabric Manager. It may also run in a container or in a service
// VM, of which nothing is seen here.

import type { Observation } from '#agent/drivers/contract/driver.ts';
import { readToolVersion } from '#agent/drivers/contract/tool-version.ts';
import type { Hardware } from '#agent/hardware/port.ts';

type Exec = Pick<Hardware, 'exec'>;

/** Where its packages have their settings. */
export const fabricSettings = '/usr/share/nvidia/nvswitch/fabricmanager.cfg';
const program = '/usr/bin/nv-fabricmanager';
const readMs = 5_000;

export const vgpuMode = '2';
/** FABRIC_MODE, and what each asks of a guest. */
const modes: Readonly<Record<string, { readonly meaning: string; readonly need: string }>> = {
  0: { meaning: 'bare metal and full passthrough', need: 'the whole board' },
  1: { meaning: 'shared NVSwitches', need: 'an active partition, and a driver of this release' },
  [vgpuMode]: { meaning: 'vGPUs', need: 'an active partition, even with one vGPU' },
};
const unknownMode = { meaning: 'unknown', need: 'the whole board or an active partition' };

/** Undefined where the host has no such settings, or they cannot be read. */
export async function readFabricMode(hardware: Exec): Promise<string | undefined> {
  const answer = await hardware
    .exec('fabric-manager', 'cat', [fabricSettings], readMs)
    .catch(() => undefined);
  const lines = answer?.exitCode === 0 ? answer.stdout.split('\n') : [];
  const modes = lines.flatMap((line) => /^\s*FABRIC_MODE\s*=\s*(\d)\s*$/.exec(line)?.[1] ?? []);
  return modes.at(-1);
}

/** Undefined where its program is not on this host. */
export async function readFabricVersion(hardware: Exec): Promise<string | undefined> {
  const tool = { name: 'fabric-manager', program, args: ['--version'] };
  return await readToolVersion(hardware, tool).catch(() => undefined);
}

/** What the self-test prints: the release, the mode, and what the mode asks of a guest. */
export async function examineFabricManager(hardware: Exec): Promise<Observation> {
  const [mode, version] = [await readFabricMode(hardware), await readFabricVersion(hardware)];
  const release = version === undefined ? 'its release is not seen' : `release ${version}`;
  const isSeen = mode !== undefined && version !== undefined;
  const { meaning, need } = modes[mode ?? ''] ?? unknownMode;
  const shown = mode === undefined ? 'its mode is not seen' : `mode ${mode} (${meaning})`;
  const what = `Fabric Manager: ${release}, ${shown}: a guest needs ${need}; else CUDA ends with 802.`;
  return { outcome: isSeen ? 'seen' : 'not seen', what };
}
