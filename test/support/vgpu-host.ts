// A host with a GPU that makes mdevs. The test records the agent's jobs and ends them; everything
// else is real.

import { expect } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument, JobEvent } from '#core/contracts/job-document.ts';
import type { AttachHandle, Presence } from '#core/domain/device.ts';
import { type BindId, providerUuid } from '#core/domain/ids.ts';
import { startBind } from '#core/operations/bind/start-bind.ts';
import { finishJob } from '#core/operations/host-work/finish-job.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { startReprovision } from '#core/operations/reprovision/start-reprovision.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { stage, startWorld, type World } from '#test/support/world.ts';

export const provider = providerUuid('cmp1_0000:0e:00.0_fake-1');
export const minutes = 60_000;

export let world: World;
export let deps: ConsumerDeps;
export let jobs: Map<string, JobDocument>;
export let cancelled: string[];
let everMade: Set<string>;
export const counts = { sequence: 0, instances: 0, boots: 0 };

export const gpu = aDevice({
  address: '0000:0e:00.0',
  driver: 'fake-gpu',
  type: 'GPU',
  provider_suffix: undefined,
  offers: undefined,
  // A vGPU type, as drivers report it.
  regions: [
    {
      name: 'fake-1',
      resource_class: 'VGPU',
      traits: [],
      attach_handles: [1, 2, 3].map((index) => ({
        type: 'MDEV',
        info: { domain: '0000', bus: '0e', asked_type: 'fake-1', vgpu_mark: `fake-1_${index}` },
      })),
    },
  ],
});

export function startVgpuHost(): Promise<void> {
  return startVgpuHostWith({});
}

/** @param settings in addition to the usual ones */
export async function startVgpuHostWith(settings: Record<string, string>): Promise<void> {
  world = await startWorld({ settings: { CYBORG_ATTACH_TYPES: 'PCI,MDEV', ...settings } });
  await world.ask('POST', '/v2/device_profiles', {
    body: [{ name: 'vgpu', groups: [{ 'resources:VGPU': '1' }] }],
  });
}

/** Boots the host, so that no state of an earlier test is left. */
export async function bootAfresh(): Promise<void> {
  jobs = new Map();
  everMade = new Set();
  cancelled = [];
  deps = {
    ...world.deps,
    clients: {
      ...world.deps.clients,
      jobs: {
        create: async (id, document) => {
          if (!everMade.has(id)) {
            everMade.add(id);
            jobs.set(id, document);
          }
        },
        cancel: async (id) => void cancelled.push(id),
        executionStatus: async () => undefined,
      },
    },
  };
  for (let instance = 1; instance <= counts.instances; instance++)
    await remove(instanceOf(instance));
  await boot();
  jobs.clear();
  await setPresence({ isConnected: true, version: 1, at: new Date().toISOString() });
}

/** Sets the clock of the consumers ahead by so many minutes. */
export function setClockAhead(count: number): void {
  deps = { ...deps, clock: () => Date.now() + count * minutes };
}

export async function setPresence(presence: Presence): Promise<void> {
  const { host } = await deps.store.inventory.host('cmp1');
  await deps.store.inventory.putPresence('cmp1', presence, host.presence);
}

/** Disconnects the agent for so long. */
export async function disconnect(forMs: number): Promise<void> {
  const at = new Date(Date.now() - forMs).toISOString();
  const { host } = await deps.store.inventory.host('cmp1');
  await underLease((holder) =>
    deps.store.inventory.putReport({ ...host, lastReportAt: at }, holder),
  );
  await setPresence({ isConnected: false, version: 1, at });
}

/** Runs the work with the lease on the host's reports, as a consumer does. */
export async function underLease(work: (holder: string) => Promise<boolean>): Promise<void> {
  const { inventory } = deps.store;
  const now = new Date().toISOString();
  expect(await inventory.takeLease('cmp1', 'test', now, now)).toBe(true);
  expect(await work('test')).toBe(true);
  await inventory.endLease('cmp1', 'test');
}

export async function boot(given: ConsumerDeps = deps): Promise<void> {
  counts.boots += 1;
  counts.sequence += 1;
  const boot_id = `bbbbbbbb-0000-4000-8000-${String(counts.boots).padStart(12, '0')}`;
  // Some tests set the clock ahead; a boot must come after that.
  const later = { ...given, clock: () => Date.now() + 10 * minutes };
  await applySettled(
    later,
    'cmp1',
    aReport([gpu], { boot_id, sequence: counts.sequence }),
    Date.now() + counts.boots,
  );
  await reprovisionAll(later);
}

export const instanceOf = (number: number) =>
  `aaaaaaaa-0000-4000-8000-${String(number).padStart(12, '0')}`;

export async function bind() {
  const created = await world.asNova('POST', '/v2/accelerator_requests', {
    device_profile_name: 'vgpu',
  });
  const arq: string = created.json.arqs[0].uuid;
  counts.instances += 1;
  const instance = instanceOf(counts.instances);
  const { status, json } = await world.asNova('PATCH', '/v2/accelerator_requests', {
    [arq]: [
      { op: 'add', path: '/hostname', value: 'cmp1' },
      { op: 'add', path: '/device_rp_uuid', value: provider },
      { op: 'add', path: '/instance_uuid', value: instance },
    ],
  });
  return { arq, instance, status, error: json?.error };
}

/** Starts reprovisioning with the messages that the stream would cause after a reboot. */
export async function reprovisionAll(given: ConsumerDeps = deps): Promise<void> {
  const jobUuids = new Set<string>();
  for (let instance = 1; instance <= counts.instances; instance++) {
    const binding = await given.store.arqs.binding(instanceOf(instance));
    if (binding?.state === 'provisioning' && binding.jobUuid) jobUuids.add(binding.jobUuid);
  }
  for (const uuid of jobUuids) await startReprovision(given, uuid, 1);
}

/** Starts the bind with the message that the stream would cause. */
export async function startBindOf(instance: string): Promise<void> {
  const binding = await deps.store.arqs.binding(instance);
  if (binding) await startBind(deps, instance, binding.bindId as BindId);
}

export async function startReleases(given: ConsumerDeps = deps): Promise<void> {
  for (const id of new Set((await handles()).flatMap(({ release }) => release ?? []))) {
    await startRelease(given, id);
  }
}

export async function handles(): Promise<readonly AttachHandle[]> {
  return (await deps.store.inventory.provider(provider))?.handles ?? [];
}

export async function end(
  kind: 'bind' | 'release' | 'reprovision',
  operation: JobEvent['operation'] = 'succeeded',
  statusDetails: JobEvent['statusDetails'] = {},
): Promise<void> {
  const ids = [...jobs.keys()].filter((id) => id.startsWith(`${stage}-${kind}-`));
  expect(ids.length).toBeGreaterThan(0);
  for (const jobId of ids) {
    const event = { jobId, operation, statusDetails, thingArn: 'arn', timestamp: 1 };
    // Deliver twice: events come at least once.
    for (const _ of [1, 2]) await finishJob(deps, { eventType: 'JOB_EXECUTION', ...event });
    jobs.delete(jobId);
  }
}

export async function stateOf(instance: string): Promise<unknown> {
  const path = `/v2/accelerator_requests?instance=${instance}`;
  const { status, json } = await world.asNova('GET', path);
  return status === 200 ? json.arqs[0]?.state : status;
}

export async function remove(instance: string): Promise<number> {
  return (await world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`)).status;
}

export async function bound() {
  const made = await bind();
  await startBindOf(made.instance);
  await end('bind');
  return made;
}

/** Restores jobs whose events are still to come. */
export function bringBackJobs(late: Map<string, JobDocument>): void {
  jobs = late;
}
