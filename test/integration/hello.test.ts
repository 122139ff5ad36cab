// The first report of an agent tells its boot and nothing of its devices.

import { beforeEach, describe, expect, it } from 'vitest';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { aJobEnd, numberedUuid } from '#test/support/builders.ts';
import { gpu, minutes, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const cmp1 = perFile(startVgpuHost);

beforeEach(() => cmp1.bootAfresh());

/** The GPU with mdevs that are made ahead. */
function madeAhead(given: { readonly clean_seconds?: number } = {}) {
  const ahead = { prepare: 'ahead' as const, ...given };
  const regions = gpu.regions.map((region) => ({
    ...region,
    attach_handles: region.attach_handles.map(({ type, info }) => ({ type, info, ...ahead })),
  }));
  return { ...gpu, regions };
}

/** The GPU without mdevs. */
function without({ regions, ...device }: typeof gpu) {
  return { ...device, regions: regions.map((region) => ({ ...region, attach_handles: [] })) };
}

const ahead = madeAhead();
const cleanedAhead = madeAhead({ clean_seconds: 300 });

async function report(boot_id: string, isHello: boolean, device = gpu): Promise<void> {
  cmp1.counts.sequence += 1;
  const from = { boot_id, sequence: cmp1.counts.sequence };
  const hello = { ...from, manifest: {}, failed_drivers: ['fake_gpu'], is_hello: true };
  const given = isHello ? aReport([], hello) : aReport([device], { ...from, not_offered: [] });
  const later = { ...cmp1.deps, clock: () => Date.now() + 20 * 60_000 };
  await applySettled(later, 'cmp1', given, Date.now() + 20 * 60_000 + cmp1.counts.sequence);
}

function bindingOf(instance: string) {
  return cmp1.deps.store.arqs.binding(instance);
}

async function endOfJob(
  bindId: string | undefined,
  operation: 'rejected' | 'succeeded',
  nowMs = Date.now(),
): Promise<void> {
  const event = aJobEnd(jobId(stage, 'bind', bindId ?? ''), { operation, statusDetails: {} });
  await finishJob({ ...cmp1.deps, clock: () => nowMs }, event);
}

const bootId = (number: number) => numberedUuid('cccccccc', number);

describe('the hello of a new boot', () => {
  it('makes ARQs provisioning; the next report starts the work for them', async () => {
    const { instance } = await cmp1.bound();
    await report(bootId(1), true);
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    await cmp1.reprovisionAll();
    expect([...cmp1.jobs.values()]).toEqual([]);
    await report(bootId(1), false);
    await cmp1.reprovisionAll();
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'reprovision', boot_id: bootId(1) }]);
    await cmp1.end('reprovision');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('asks the host again for a release that the agent refuses for an earlier boot', async () => {
    await cmp1.releasing();
    await report(bootId(6), true);
    await cmp1.end('release', 'rejected', { reason: 'another boot' });
    expect((await cmp1.handles()).filter(({ quarantine }) => quarantine)).toEqual([]);
    await report(bootId(6), false);
    await cmp1.startReleases();
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ release }) => release)).toEqual([]);
  });

  it('ends a release that the agent refuses after a later release has replaced it', async () => {
    const holders = [await cmp1.bind(), await cmp1.bind(), await cmp1.bind()];
    await cmp1.remove(holders[0]?.instance ?? '');
    await cmp1.startReleases();
    const [replaced] = (await cmp1.handles()).flatMap(({ release }) => release ?? []);
    const { instance } = await cmp1.bind();
    await cmp1.remove(instance);
    await report(bootId(7), true);
    await cmp1.end('release', 'rejected', { reason: 'another boot' });
    if (!replaced) throw new Error('No handle waits for a release.');
    expect(await cmp1.deps.store.releases.awaited(replaced)).toBeUndefined();
  });

  it('starts a bind again that the agent refuses for an earlier boot', async () => {
    const { instance } = await cmp1.started();
    const before = await bindingOf(instance);
    await report(bootId(8), true);
    await cmp1.end('bind', 'rejected', { reason: 'another boot' });
    const again = await bindingOf(instance);
    expect(again).toEqual({ ...before, bindId: again?.bindId });
    expect(again?.bindId).not.toBe(before?.bindId);
    await cmp1.startBindOf(instance);
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'prepare', boot_id: bootId(8) }]);
    await endOfJob(before?.bindId, 'rejected');
    await endOfJob(before?.bindId, 'succeeded');
    expect(await bindingOf(instance)).toEqual(again);
    await cmp1.end('bind');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('starts a bind again after each of several boots, and cleans up behind its last job', async () => {
    const { instance } = await cmp1.bind();
    for (const number of [9, 10]) {
      await cmp1.startBindOf(instance);
      await report(bootId(number), true);
      await cmp1.end('bind', 'rejected', { reason: 'another boot' });
    }
    await cmp1.startBindOf(instance);
    const last = await bindingOf(instance);
    await cmp1.remove(instance);
    await cmp1.startReleases();
    expect([...cmp1.jobs.values()]).toMatchObject([
      { action: 'prepare', bind_id: last?.bindId },
      { action: 'release', bind_id: last?.bindId },
    ]);
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ claim, release }) => claim ?? release)).toEqual([]);
  });

  it('fails a bind that the agent refuses after its deadline', async () => {
    const { instance } = await cmp1.started();
    const binding = await bindingOf(instance);
    await report(bootId(11), true);
    await endOfJob(binding?.bindId, 'rejected', Date.now() + 10 * minutes);
    expect(await cmp1.stateOf(instance)).toBe(409);
    expect(await bindingOf(instance)).toMatchObject({ failureCause: 'boot' });
  });

  it('leaves a bind alone that has waited for a release and needed nothing else', async () => {
    await report(bootId(4), false, cleanedAhead);
    const holders = [await cmp1.bind(), await cmp1.bind(), await cmp1.bind()];
    await cmp1.remove(holders[0]?.instance ?? '');
    const { instance } = await cmp1.bind();
    expect(await cmp1.stateOf(instance)).toBe('BindStarted');
    await cmp1.startReleases();
    await cmp1.end('release');
    await cmp1.startBindOf(instance);
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    await report(bootId(5), true);
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    await report(bootId(5), false, cleanedAhead);
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('keeps the devices, and what is made ahead is provisioning until it is reported', async () => {
    await report(bootId(2), false, ahead);
    const { instance, status } = await cmp1.bind();
    expect([status, await cmp1.stateOf(instance)]).toEqual([202, 'Bound']);
    expect([...cmp1.jobs.values()]).toEqual([]);
    await report(bootId(3), true);
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    expect(await cmp1.handles()).toHaveLength(3);
    await report(bootId(3), false, ahead);
    await cmp1.reprovisionAll();
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    expect([...cmp1.jobs.values()]).toEqual([]);
  });

  it('shows what is made ahead as provisioning while the boot is reported without it', async () => {
    await report(bootId(16), false, ahead);
    const { instance, status, error } = await cmp1.bind();
    expect([status, error]).toEqual([202, undefined]);
    await report(bootId(17), true);
    await report(bootId(17), false, without(ahead));
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    expect(await cmp1.listedForNova(instance)).toBe(409);
    const { json } = await cmp1.world.ask('GET', '/v2/accelerator_requests');
    expect(json.arqs).toMatchObject([{ instance_uuid: instance, state: 'provisioning' }]);
    await report(bootId(17), false, ahead);
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    expect(await cmp1.listedForNova(instance)).toBe('Bound');
  });
});
