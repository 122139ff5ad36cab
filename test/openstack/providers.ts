// A compute node's tree of resource providers in Placement.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { providerUuid } from '#core/domain/ids.ts';
import { environmentOf } from '#local/process/layout.ts';
import type { Stage } from './stage.ts';

export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
}

/** The providers of the node's tree; none before nova-compute has started on it. */
export async function providersOf(
  { admin, cloud }: Stage,
  host = cloud.plan.computeHost,
): Promise<readonly ProviderRow[]> {
  const named = `/resource_providers?name=${host}`;
  const [node] = (await admin.placement.ask('GET', named)).body.resource_providers;
  if (!node) return [];
  const tree = `/resource_providers?in_tree=${node.uuid}`;
  return (await admin.placement.ask('GET', tree)).body.resource_providers;
}

/** The names of the tree's providers, the compute node's own first. */
export async function providerNames(stage: Stage): Promise<readonly string[]> {
  return (await providersOf(stage)).map(({ name }) => name).sort((a, b) => a.length - b.length);
}

/** The path of one of our providers, by the part of its name after the host. */
export function ownProvider({ cloud }: Stage, suffix: string): string {
  return `/resource_providers/${providerUuid(`${cloud.plan.computeHost}_${suffix}`)}`;
}

/** Runs `cyborg-ops reconcile` like an operator. */
export function reconcile({ layout, cloud }: Stage, ...options: string[]) {
  const root = join(import.meta.dirname, '..', '..');
  const run = spawnSync(
    process.execPath,
    ['operate/cyborg-ops.ts', 'reconcile', cloud.plan.computeHost, ...options],
    {
      cwd: root,
      encoding: 'utf8',
      env: { ...environmentOf(layout), POWERTOOLS_LOG_LEVEL: 'SILENT' },
    },
  );
  return { status: run.status, text: run.stdout + run.stderr };
}
