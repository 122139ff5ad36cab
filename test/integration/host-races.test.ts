// Boots, releases and jobs' ends in unlucky order, as host-work.test.ts has them in the lucky one. Each of
// these has lost a device, a bind or a release once.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { finishJob } from '#core/operations/host-work/finish-job.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { sweep } from '#core/operations/sweep.ts';
import { applySettled, aReport } from '#test/support/reports.ts';
import {
  bind,
  boot,
  bootAfresh,
  bound,
  counts,
  deps,
  end,
  gpu,
  handles,
  instanceOf,
  jobs,
  minutes,
  provider,
  remove,
  reprovisionAll,
  startBindOf,
  startReleases,
  startVgpuHost,
  stateOf,
  world,
} from '#test/support/vgpu-host.ts';

beforeAll(startVgpuHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

const boot_idOf = (n: number) => `bbbbbbbb-0000-4000-8000-${String(n).padStart(12, '0')}`;
/** Report of a new boot, the consumer dies before putReport. */
async function bootDying(
  d: ConsumerDeps = deps,
  at: () => Promise<void> = async () => {
    throw new Error('killed');
  },
) {
  counts.boots += 1;
  counts.sequence += 1;
  const dying = {
    ...d,
    store: {
      ...d.store,
      inventory: {
        ...d.store.inventory,
        putReport: async (...given: Parameters<typeof d.store.inventory.putReport>) => {
          await at();
          return d.store.inventory.putReport(...given);
        },
      },
    },
  } as ConsumerDeps;
  const report = aReport([gpu], { boot_id: boot_idOf(counts.boots), sequence: counts.sequence });
  const receivedAt = Date.now() + counts.boots;
  await applySettled(dying, 'cmp1', report, receivedAt).catch(() => {});
  await reprovisionAll(d);
  return () => applyReport(deps, 'cmp1', report, receivedAt);
}

it('a report of a boot that comes again does not undo what its job has made', async () => {
  const { instance } = await bound();
  const again = await bootDying();
  expect(await stateOf(instance)).toBe('provisioning');
  await end('reprovision');
  expect(await stateOf(instance)).toBe('Bound');
  await again();
  await sweep({ ...deps, clock: () => Date.now() + 600 * minutes });
  expect(await stateOf(instance)).toBe('Bound');
});

it('the refused job of an earlier boot takes nothing from an instance', async () => {
  const { instance } = await bound();
  await boot();
  const [old = ''] = [...jobs.keys()];
  await boot();
  jobs.delete(old);
  await finishJob(deps, {
    eventType: 'JOB_EXECUTION',
    jobId: old,
    operation: 'rejected',
    statusDetails: { reason: 'The document is for another boot of this host.' },
    thingArn: 'a',
    timestamp: 1,
  });
  expect(await stateOf(instance)).toBe('provisioning');
});

it('the late success of an earlier boot’s job binds nothing', async () => {
  const { instance } = await bound();
  await boot();
  const [old = ''] = [...jobs.keys()];
  await boot();
  await finishJob(deps, {
    eventType: 'JOB_EXECUTION',
    jobId: old,
    operation: 'succeeded',
    statusDetails: {},
    thingArn: 'a',
    timestamp: 1,
  });
  expect(await stateOf(instance)).toBe('provisioning');
});

it('a success under another boot than the host’s is none', async () => {
  const { instance } = await bind();
  await startBindOf(instance);
  await boot();
  await end('bind');
  expect(await stateOf(instance)).not.toBe('Bound');
});

it('a tenant cannot take a vGPU from its instance without a service token', async () => {
  const { arq } = await bound();
  const body = {
    [arq]: [
      { op: 'remove', path: '/hostname' },
      { op: 'remove', path: '/device_rp_uuid' },
      { op: 'remove', path: '/instance_uuid' },
    ],
  };
  const { status } = await world.ask('PATCH', '/v2/accelerator_requests', {
    token: 'demo-token',
    body,
  });
  expect(status).toBe(403);
});

async function report(devices: (typeof gpu)[], extra: Record<string, unknown> = {}) {
  counts.sequence += 1;
  await applyReport(
    deps,
    'cmp1',
    aReport(devices, { boot_id: boot_idOf(counts.boots), sequence: counts.sequence, ...extra }),
    Date.now() + counts.boots,
  );
}

it('a device that is away for one report stays in quarantine', async () => {
  const { instance } = await bound();
  await remove(instance);
  await startReleases();
  await end('release', 'failed', { reason: 'EBUSY' });
  expect((await handles()).filter((h) => h.quarantine)).toHaveLength(1);
  await report([]);
  await report([gpu]);
  const now = await handles();
  expect(now.filter((h) => h.quarantine)).toHaveLength(1);
});

const gpu2 = { ...gpu, address: '0000:0f:00.0' };
it('a card that died with the boot takes down no instance but its own', async () => {
  await report([gpu, gpu2]);
  const healthy = await bound();
  const created = await world.asNova('POST', '/v2/accelerator_requests', {
    device_profile_name: 'vgpu',
  });
  const arq2: string = created.json.arqs[0].uuid;
  counts.instances += 1;
  const i2 = instanceOf(counts.instances);
  const r = await world.asNova('PATCH', '/v2/accelerator_requests', {
    [arq2]: [
      { op: 'add', path: '/hostname', value: 'cmp1' },
      { op: 'add', path: '/device_rp_uuid', value: providerUuid('cmp1_0000:0f:00.0_fake-1') },
      { op: 'add', path: '/instance_uuid', value: i2 },
    ],
  });
  expect(r.status).toBe(202);
  await startBindOf(i2);
  await end('bind');
  await boot(); // without gpu2
  const addresses = [...jobs.values()]
    .flatMap((d) => ('steps' in d ? d.steps : []))
    .map((s) => s.address);
  for (const [jobId, d] of jobs) {
    const has = 'steps' in d && d.steps.some((s) => s.address === gpu2.address);
    await finishJob(deps, {
      eventType: 'JOB_EXECUTION',
      jobId,
      operation: has ? 'failed' : 'succeeded',
      statusDetails: { reason: '0000:0f:00.0 no device' },
      thingArn: 'a',
      timestamp: 1,
    });
  }
  expect.soft(addresses).not.toContain(gpu2.address);
  expect(await stateOf(healthy.instance)).toBe('Bound');
});

async function bindTwo() {
  const arqs: string[] = [];
  for (const _ of [1, 2]) {
    const c = await world.asNova('POST', '/v2/accelerator_requests', {
      device_profile_name: 'vgpu',
    });
    arqs.push(c.json.arqs[0].uuid);
  }
  counts.instances += 1;
  const instance = instanceOf(counts.instances);
  const patch = [
    { op: 'add', path: '/hostname', value: 'cmp1' },
    { op: 'add', path: '/device_rp_uuid', value: provider },
    { op: 'add', path: '/instance_uuid', value: instance },
  ];
  const { status } = await world.asNova(
    'PATCH',
    '/v2/accelerator_requests',
    Object.fromEntries(arqs.map((a) => [a, patch])),
  );
  expect(status).toBe(202);
  return { arqs, instance };
}

it('a success is not lost to the deletion of one of the ARQs', async () => {
  const { arqs, instance } = await bindTwo();
  await startBindOf(instance);
  let once = true;
  const racing = {
    ...deps,
    store: {
      ...deps.store,
      bindings: {
        ...deps.store.bindings,
        succeed: async (...a: Parameters<typeof deps.store.bindings.succeed>) => {
          if (once) {
            once = false;
            await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${arqs[0]}`);
          }
          return deps.store.bindings.succeed(...a);
        },
      },
    },
  } as ConsumerDeps;
  const [jobId = ''] = [...jobs.keys()];
  const event = {
    eventType: 'JOB_EXECUTION' as const,
    jobId,
    operation: 'succeeded' as const,
    statusDetails: {},
    thingArn: 'a',
    timestamp: 1,
  };
  await finishJob(racing, event);
  await finishJob(deps, event);
  expect(await stateOf(instance)).toBe('Bound');
});

it('nor is it while the host makes it again', async () => {
  const { arqs, instance } = await bindTwo();
  await startBindOf(instance);
  await end('bind');
  await boot();
  let once = true;
  const racing = {
    ...deps,
    store: {
      ...deps.store,
      bindings: {
        ...deps.store.bindings,
        succeed: async (...a: Parameters<typeof deps.store.bindings.succeed>) => {
          if (once) {
            once = false;
            await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${arqs[0]}`);
          }
          return deps.store.bindings.succeed(...a);
        },
      },
    },
  } as ConsumerDeps;
  const [jobId = ''] = [...jobs.keys()];
  const event = {
    eventType: 'JOB_EXECUTION' as const,
    jobId,
    operation: 'succeeded' as const,
    statusDetails: {},
    thingArn: 'a',
    timestamp: 1,
  };
  await finishJob(racing, event);
  await finishJob(deps, event);
  await sweep({ ...deps, clock: () => Date.now() + 600 * minutes });
  expect(await stateOf(instance)).toBe('Bound');
});

it('a boot’s report that comes again confirms no release that began since', async () => {
  const { instance } = await bound();
  const again = await bootDying();
  await end('reprovision'); // the mdev is there again
  await remove(instance);
  expect((await handles()).filter((h) => h.release)).toHaveLength(1);
  await again();
  expect((await handles()).filter((h) => h.release)).toHaveLength(1);
});

it('a bind that waited behind a release is prepared for the new boot', async () => {
  const a = await bound();
  await bound();
  await bound();
  await remove(a.instance);
  const waiting = await bind();
  expect(waiting.status).toBe(202);
  await expect(startBindOf(waiting.instance)).rejects.toMatchObject({ name: 'RetryLater' });
  await bootDying(deps, async () => {
    await startBindOf(waiting.instance);
  });
  const { host } = await deps.store.inventory.host('cmp1');
  const prepare = [...jobs.values()].find((d) => d.action === 'prepare');
  expect(prepare?.boot_id).toBe(host.bootId);
});

it('a release that begins with the boot is asked of the new boot', async () => {
  const { instance } = await bound();
  await bootDying(deps, async () => {
    await remove(instance);
    await startReleases({ ...deps, clock: () => Date.now() + minutes });
  });
  const { host } = await deps.store.inventory.host('cmp1');
  const free = [...jobs.values()].find((d) => d.action === 'release');
  expect(free?.boot_id).toBe(host.bootId);
});

it('what is left of a binding is provisioned while a part of it is deleted', async () => {
  const { arqs, instance } = await bindTwo();
  await startBindOf(instance);
  await end('bind');
  await boot({
    ...deps,
    store: {
      ...deps.store,
      bindings: {
        ...deps.store.bindings,
        provision: async (...a: Parameters<typeof deps.store.bindings.provision>) => {
          await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${arqs[0]}`);
          return deps.store.bindings.provision(...a);
        },
      },
    },
  } as ConsumerDeps);
  expect(await stateOf(instance)).toBe('provisioning');
});

it.each([
  ['GET', `/v2/devices/${'a'.repeat(1500)}`, undefined],
  ['GET', `/v2/deployables/${'a'.repeat(1500)}`, undefined],
  ['POST', '/v2/accelerator_requests', { device_profile_name: 'a'.repeat(3000) }],
  ['POST', '/v2/accelerator_requests', { device_profile_name: '' }],
  ['POST', `/v2/devices/${'a'.repeat(1500)}/force_release`, {}],
  ['DELETE', `/v2/device_profiles?name=${'a'.repeat(3000)}`, undefined],
  ['DELETE', `/v2/device_profiles/${'a'.repeat(3000)}`, undefined],
  ['GET', `/v2/device_profiles?name=${'a'.repeat(3000)}`, undefined],
  ['DELETE', `/v2/device_profiles/,`, undefined],
  [
    'DELETE',
    `/v2/accelerator_requests?arqs=${Array.from({ length: 150 }, (_, i) => instanceOf(i)).join(',')}`,
    undefined,
  ],
  ['GET', '/v2/devices?hostname=', undefined],
  ['GET', '/v2/devices?type=&vendor=', undefined],
] as const)('T9 %s %.60s', async (method, path, body) => {
  const { status } = await world.ask(method, path, { body, microversion: 'accelerator 2.2' });
  expect(status).toBeLessThan(500);
});
