// What this host shows of NVIDIA's Fabric Manager. It may also run in a container or in a service
// VM, of which nothing is seen here.

import { readToolVersion } from '#agent/drivers/contract/tool-version.ts';
import type { Hardware } from '#agent/hardware/port.ts';

type Exec = Pick<Hardware, 'exec'>;

/** Where its packages have their settings. */
export const fabricSettings = '/usr/share/nvidia/nvswitch/fabricmanager.cfg';
const program = '/usr/bin/nv-fabricmanager';
const readMs = 5_000;

/** FABRIC_MODE: 0 bare metal and full passthrough, 1 shared NVSwitches, 2 vGPUs. */
export const vgpuMode = '2';

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
