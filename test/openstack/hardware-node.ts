// A compute node whose accelerators have real drivers of the agent: a VM of test/kernel.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { hostCloud } from '#test/kernel/cloud.ts';
import { ensureImage } from '#test/kernel/machine/image.ts';
import { ensureKernelPackages } from '#test/kernel/packages.ts';
import type { Group } from '#test/kernel/scenario.ts';
import { Stage as Host, type StageOptions } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { scheduleOnlyTo } from './nodes.ts';
import { providersOf } from './providers.ts';
import type { Stage } from './stage.ts';

export const hardwareHost = 'compute-3.example';
const root = join(import.meta.dirname, '../..');
export const cache = join(root, '.local', 'kernel');
/** The guest's CPU is emulated, so the agent takes tens of seconds to start. */
export const withinSeconds = 240;

/** Before OpenStack is started. @throws CannotRun where the VM cannot run */
export function ensureVm(): void {
  ensureKernelPackages();
  lockDirectory(cache);
}

type Parts = Pick<StageOptions, 'qemu' | 'system'>;

/** Boots the VM; its disks are kept over a loss of power. */
export async function startHost(
  { layout }: Stage,
  group: Pick<Group, 'name' | 'prepare' | 'networkCard' | 'hypervisor'>,
  parts: Parts,
): Promise<Host> {
  execFileSync(process.execPath, ['infra/bundle/bundle-agent.ts'], { cwd: root });
  const directory = join(cache, 'machines');
  mkdirSync(directory, { recursive: true });
  const image = await ensureImage(cache);
  const whole = { ...group, hostname: hardwareHost, scenarios: [] };
  const host = new Host({ group: whole, image, directory, hosts: hostCloud(layout), ...parts });
  await host.boot();
  return host;
}

/** Starts nova-compute of the node, and sends all new servers there. */
export async function joinNode(stage: Stage): Promise<void> {
  await stage.cloud.startCompute(hardwareHost);
  const path = `/os-services?binary=nova-compute&host=${hardwareHost}`;
  await eventually(
    () => stage.admin.nova.ask('GET', path),
    // The first report of its state: before it, the service takes no message.
    ({ body }) => Date.parse(`${body.services[0]?.updated_at}Z`) > 0,
    withinSeconds,
  );
  await scheduleOnlyTo(stage, hardwareHost);
}

/** Waits until Placement has these resource classes below the node; returns all that it has. */
export function untilOffered(stage: Stage, classes: readonly string[]): Promise<Set<string>> {
  return eventually(
    () => classesOf(stage),
    (offered) => classes.every((each) => offered.has(each)),
    withinSeconds,
  );
}

/** The resource classes of the providers below the compute node. */
async function classesOf(stage: Stage): Promise<Set<string>> {
  const classes = new Set<string>();
  const all = await providersOf(stage, hardwareHost);
  for (const { uuid } of all.filter(({ name }) => name !== hardwareHost)) {
    const path = `/resource_providers/${uuid}/inventories`;
    const { inventories } = (await stage.admin.placement.ask('GET', path)).body;
    for (const [name, { total, reserved }] of Object.entries(inventories)) {
      if (total > reserved) classes.add(name);
    }
  }
  return classes;
}
