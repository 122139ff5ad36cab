// An instance with a vGPU on each of two cards leaves both to be cleaned up by one job. When the second
// card does not come back, the first one's handle must not wait for it.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { finishJob } from '#core/operations/host-work/finish-job.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { sweep } from '#core/operations/sweep.ts';
import { applySettled, aReport } from '#test/support/reports.ts';
import {
  bootAfresh,
  counts,
  deps,
  end,
  gpu,
  instanceOf,
  jobs,
  minutes,
  provider,
  remove,
  startBindOf,
  startReleases,
  startVgpuHost,
  stateOf,
  world,
} from '#test/support/vgpu-host.ts';

const secondCard = { ...gpu, address: '0000:0f:00.0' };
const secondProvider = providerUuid('cmp1_0000:0f:00.0_fake-1');

beforeAll(startVgpuHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

async function releaseOn(uuid: typeof provider): Promise<string | undefined> {
  const stored = await deps.store.inventory.provider(uuid);
  return stored?.handles.find(({ release }) => release)?.release;
}

async function bindOnBothCards(): Promise<string> {
  const group = { 'resources:VGPU': '1' };
  await world.ask('POST', '/v2/device_profiles', {
    body: [{ name: 'pair', groups: [group, group] }],
  });
  const { json } = await world.asNova('POST', '/v2/accelerator_requests', {
    device_profile_name: 'pair',
  });
  counts.instances += 1;
  const instance = instanceOf(counts.instances);
  const target = (rp: string) => [
    { op: 'add', path: '/hostname', value: 'cmp1' },
    { op: 'add', path: '/device_rp_uuid', value: rp },
    { op: 'add', path: '/instance_uuid', value: instance },
  ];
  const uuids: string[] = json.arqs.map(({ uuid }: { uuid: string }) => uuid);
  const cards = [provider, secondProvider];
  const patch = Object.fromEntries(uuids.map((uuid, index) => [uuid, target(cards[index] ?? '')]));
  const { status } = await world.asNova('PATCH', '/v2/accelerator_requests', patch);
  expect(status).toBe(202);
  await startBindOf(instance);
  await end('bind');
  expect(await stateOf(instance)).toBe('Bound');
  return instance;
}

it('frees the handle of a card that is clean while the other card still fails', async () => {
  const { host } = await deps.store.inventory.host('cmp1');
  counts.sequence += 1;
  const from = { boot_id: host.bootId as string, sequence: counts.sequence };
  await applySettled(deps, 'cmp1', aReport([gpu, secondCard], from), Date.now());
  await remove(await bindOnBothCards());
  await startReleases();
  await end('release', 'failed', { reason: 'EIO' });
  expect(await releaseOn(provider)).toBe(await releaseOn(secondProvider));

  const later = { ...deps, clock: () => Date.now() + 2 * minutes };
  await sweep(later);
  const [first, second] = [await releaseOn(provider), await releaseOn(secondProvider)];
  expect(first).not.toBe(second);
  for (const id of [first, second]) await startRelease(later, id as string);
  expect(jobs.size).toBe(2);
  for (const [jobId, job] of jobs) {
    const isClean = JSON.stringify(job).includes(gpu.address);
    await finishJob(later, {
      ...{ eventType: 'JOB_EXECUTION', thingArn: 'arn', timestamp: 1, jobId },
      operation: isClean ? 'succeeded' : 'failed',
      statusDetails: isClean ? {} : { reason: 'EIO' },
    });
  }
  expect(await releaseOn(provider)).toBeUndefined();
  expect(await releaseOn(secondProvider)).toBeDefined();
});
