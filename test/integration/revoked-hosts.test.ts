// A host whose certificates an operator has revoked: AWS IoT ends its connection within minutes,
// and until then nothing that it says counts.

import { beforeEach, expect, it } from 'vitest';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { markRevoked } from '#core/store/hosts/revocations.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { aJobEnd } from '#test/support/builders.ts';
import { gpu, minutes, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { hasSettled } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const cmp1 = perFile(startVgpuHost);
const revokedAt = '2026-11-28T12:00:00.000Z';

const revoke = (at: string | undefined) => markRevoked(createDocuments().strong, stage, 'cmp1', at);
const stored = () => cmp1.deps.store.inventory.host('cmp1');

beforeEach(async () => {
  await revoke(undefined);
  await cmp1.bootAfresh();
  await hasSettled(cmp1.deps, 'cmp1');
});

it('takes away no device by a report, and adds none', async () => {
  const { instance } = await cmp1.bound();
  await revoke(revokedAt);
  await cmp1.report([]);
  await cmp1.report([gpu, { ...gpu, address: '0000:0f:00.0' }]);
  await cmp1.boot();
  expect((await stored()).devices).toMatchObject([{ address: gpu.address, isGone: false }]);
  expect(await cmp1.stateOf(instance)).toBe('unknown');
});

it('accepts no bind, and is not asked for one that was accepted before', async () => {
  const accepted = await cmp1.bind();
  await revoke(revokedAt);
  expect(await cmp1.bind()).toMatchObject({
    status: 409,
    error: 'Host cmp1 was revoked: it accepts no bind until it is enrolled again.',
  });
  await cmp1.startBindOf(accepted.instance);
  expect(cmp1.jobs.size).toBe(0);
  expect((await cmp1.deps.store.arqs.binding(accepted.instance))?.state).toBe('BindFailed');
});

it('frees no handle by its word', async () => {
  const { instance } = await cmp1.bound();
  await cmp1.remove(instance);
  await cmp1.startReleases();
  const [job] = [...cmp1.jobs.keys()];
  await revoke(revokedAt);
  await finishJob(cmp1.deps, aJobEnd(job ?? ''));
  const held = (await cmp1.handles()).filter(({ release }) => release);
  expect(held).toMatchObject([{ quarantine: `Host cmp1 was revoked at ${revokedAt}.` }]);

  const jobsAfter = async (count: number) => {
    cmp1.jobs.clear();
    const later = { ...cmp1.deps, clock: () => Date.now() + count * minutes };
    await sweep(later);
    await cmp1.startReleases(later);
    return cmp1.jobs.size;
  };
  expect(await jobsAfter(30)).toBe(0);
  await revoke(undefined);
  await cmp1.report();
  expect(await jobsAfter(60)).toBe(1);
});

it('does not connect, and is away at once', async () => {
  const { presence } = (await stored()).host;
  await revoke(revokedAt);
  const timestamp = Date.now() + 5 * minutes;
  await recordPresence(cmp1.deps, 'cmp1', { clientId: 'cmp1', eventType: 'connected', timestamp });
  expect((await stored()).host.presence).toEqual(presence);
  const shown = await cmp1.world.ask('GET', '/operator/v1/hosts/cmp1');
  expect(shown.json).toMatchObject({ state: 'away' });
});
