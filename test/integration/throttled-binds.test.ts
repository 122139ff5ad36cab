// Binds whose jobs AWS throttles: the next bind of their devices that gets through takes them into
// its job. What such a job does not make ready, each bind's own job does.

import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { BindId, InstanceUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { handlesMax, type Share, sharesBeside, toShare } from '#core/operations/bind/share-job.ts';
import { prepareHostWork } from '#core/operations/host-work/prepare-host-work.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { gpu, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

/** One more than a shared job takes. */
const handles = handlesMax + 1;

const cmp1 = perFile(() => startVgpuHost({}, handles));
let isThrottled: boolean;

beforeEach(async () => {
  await cmp1.bootAfresh();
  throttle();
});

/** From now on AWS creates no job while it throttles. */
function throttle(): void {
  isThrottled = true;
  const { jobs } = cmp1.deps.clients;
  const create: typeof jobs.create = async (...job) => {
    if (isThrottled) throw new RetryLater('AWS IoT: ThrottlingException', 2);
    await jobs.create(...job);
  };
  cmp1.deps = withClients(cmp1.deps, { jobs: { create } });
}

/** Instances with a bind each that AWS has throttled. */
async function throttled(count: number): Promise<string[]> {
  const instances: string[] = [];
  for (let each = 0; each < count; each++) {
    const { instance } = await cmp1.bind();
    instances.push(instance);
    await expect(cmp1.startBindOf(instance)).rejects.toThrow('ThrottlingException');
  }
  return instances;
}

/** Starts the bind when AWS does not throttle; it leads the job for those that wait. */
async function lead(instance: string): Promise<void> {
  isThrottled = false;
  await expect(cmp1.startBindOf(instance)).rejects.toThrow('A job for several binds');
}

function stepsOfJobs(): number[] {
  return [...cmp1.jobs.values()].map((job) => ('steps' in job ? job.steps.length : 0));
}

async function waiting() {
  return (await cmp1.deps.store.inventory.host('cmp1')).waiting;
}

async function statesOf(instances: readonly string[]): Promise<unknown[]> {
  return Promise.all(instances.map((instance) => cmp1.stateOf(instance)));
}

it('makes throttled binds of a host ready by one job', async () => {
  const instances = await throttled(3);
  expect(await waiting()).toHaveLength(3);
  await lead(instances[2] as string);
  expect(stepsOfJobs()).toEqual([3]);
  await cmp1.end('bind');
  expect(await statesOf(instances)).toEqual(['Bound', 'Bound', 'Bound']);
  expect(await waiting()).toEqual([]);
  for (const instance of instances) await cmp1.startBindOf(instance);
  expect(stepsOfJobs()).toEqual([]);
});

it('creates the same job for the same binds, whichever leads', async () => {
  const [first = '', second = ''] = await throttled(2);
  const putShared = async () => Promise.reject(new Error('killed'));
  isThrottled = false;
  const { deps } = cmp1;
  cmp1.deps = withStore(deps, { waitingBinds: { putShared } });
  await expect(cmp1.startBindOf(first)).rejects.toThrow('killed');
  cmp1.deps = deps;
  await lead(second);
  expect(stepsOfJobs()).toEqual([2]);
});

it('takes no more than its answer can tell of, the longest waiting first', async () => {
  const instances = await throttled(handles);
  await lead(instances.at(-1) as string);
  expect(stepsOfJobs()).toEqual([handlesMax]);
  await cmp1.end('bind');
  const states = await statesOf(instances);
  expect(states.filter((state) => state === 'Bound')).toHaveLength(handlesMax);
  expect(states.at(-2)).toBe('BindStarted');
  await cmp1.startBindOf(instances.at(-2) as string);
  await cmp1.end('bind');
  expect(await statesOf(instances)).toEqual(instances.map(() => 'Bound'));
});

it('leaves a bind to the shared job for half a minute; then the bind has its own', async () => {
  const [first = '', second = ''] = await throttled(2);
  await lead(first);
  await expect(cmp1.startBindOf(second)).rejects.toThrow('A job for several binds');
  expect(stepsOfJobs()).toEqual([2]);
  cmp1.setClockAhead(1);
  await cmp1.startBindOf(second);
  expect(stepsOfJobs()).toEqual([2, 1]);
  await cmp1.end('bind');
  expect(await statesOf([first, second])).toEqual(['Bound', 'Bound']);
});

it('gives each bind its own job after a shared one that failed', async () => {
  const [first = '', second = ''] = await throttled(2);
  await lead(first);
  await cmp1.end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
  expect(await statesOf([first, second])).toEqual(['BindStarted', 'BindStarted']);
  await cmp1.startBindOf(first);
  await cmp1.end('bind');
  await cmp1.startBindOf(second);
  await cmp1.end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
  expect(await statesOf([first, second])).toEqual(['Bound', 409]);
});

it('cleans after a bind whose own job left nothing, because the shared one may', async () => {
  const [first = '', second = ''] = await throttled(2);
  isThrottled = false;
  const { deps } = cmp1;
  const before = await deps.store.inventory.host('cmp1');
  // The consumer of the second bind has read what waits before the first bind's job is created.
  const alone = async () => ({ ...before, waiting: [] });
  cmp1.deps = withStore(deps, { inventory: { host: alone } });
  await cmp1.startBindOf(first);
  cmp1.deps = deps;
  const own = [...cmp1.jobs];
  await lead(second);
  const shared = [...cmp1.jobs].filter(([id]) => !own.some(([known]) => known === id));
  cmp1.bringBackJobs(new Map(own));
  await cmp1.end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
  expect(await cmp1.stateOf(first)).toBe(409);
  expect((await cmp1.handles()).filter(({ release }) => release)).toHaveLength(1);
  cmp1.bringBackJobs(new Map(shared));
  await cmp1.end('bind');
  expect(await cmp1.stateOf(second)).toBe('Bound');
  expect((await cmp1.handles()).filter(({ release }) => release)).toHaveLength(1);
});

it('takes no bind along that began before the boot, or that was deleted', async () => {
  const [old = ''] = await throttled(1);
  isThrottled = false;
  await cmp1.boot();
  isThrottled = true;
  const [deleted = '', present = ''] = await throttled(2);
  expect(await cmp1.remove(deleted)).toBe(204);
  isThrottled = false;
  await cmp1.startBindOf(present);
  expect(stepsOfJobs()).toEqual([1]);
  await cmp1.end('bind');
  expect(await statesOf([old, present])).toEqual(['BindStarted', 'Bound']);
  const left = (await waiting()).map(({ instanceUuid }) => instanceUuid);
  expect([old, deleted, present].filter((each) => left.includes(each as never))).toEqual([old]);
});

it('takes no bind along that has a job of its own', async () => {
  const [first = ''] = await throttled(1);
  const { instance: second } = await cmp1.bind();
  isThrottled = false;
  await cmp1.startBindOf(first);
  await cmp1.startBindOf(second);
  expect(stepsOfJobs()).toEqual([1, 1]);
});

/** The share of an instance's bind, as its consumer has read it. */
async function shareAsRead(instance: string) {
  const { deps } = cmp1;
  const inventory = await deps.store.inventory.host('cmp1');
  const binding = (await deps.store.arqs.binding(instance)) as InstanceBinding;
  const { steps } = await prepareHostWork(deps, binding, inventory);
  const share = toShare(inventory, binding, steps) as Share;
  const { bootId = '' } = inventory.host;
  const others = (own = share) => sharesBeside(deps, own, inventory, bootId);
  return { share, others };
}

it('takes no bind of another device along, for which the job would have to wait', async () => {
  const [first = ''] = await throttled(2);
  const { share, others } = await shareAsRead(first);
  expect(await others()).toHaveLength(1);
  const steps = share.steps.map((step) => ({ ...step, address: '0000:0f:00.0' }));
  expect(await others({ ...share, steps })).toEqual([]);
});

it('leads no job for a bind that has ended since its host was read', async () => {
  const [first = '', second = ''] = await throttled(2);
  const { others } = await shareAsRead(second);
  expect(await cmp1.remove(second)).toBe(204);
  expect(await others()).toBe('ended');
  const left = (await waiting()).map(({ instanceUuid }) => instanceUuid);
  expect([first, second].filter((each) => left.includes(each as never))).toEqual([first]);
});

it('finds what waits where an instance was bound twice', async () => {
  const [first = '', second = ''] = await throttled(2);
  await cmp1.deps.store.waitingBinds.add('cmp1', {
    instanceUuid: first as InstanceUuid,
    bindId: randomUUID() as BindId,
    addresses: [gpu.address],
    startedAt: '2026-01-01T00:00:00.000Z',
  });
  await lead(second);
  expect(stepsOfJobs()).toEqual([2]);
});
