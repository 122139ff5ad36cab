// What needs an operator, and the comparison of a host with Placement.

import { beforeAll, describe, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { workIncident } from '#core/domain/history/work-incidents.ts';
import { workDueMs } from '#core/domain/host-work/deadlines.ts';
import { derivedUuid, providerUuid } from '#core/domain/ids.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
import { nextInstance } from '#test/support/builders.ts';
import { aDevice, aGpu, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI,MDEV' } }));
const operator = operatorsApi(world);
const instance = '77aa0000-0000-4000-8000-000000000001';
const hourMs = 3_600_000;

const gpu = aGpu([{ vgpu_mark: '1' }]);
const hot = aDevice({
  address: '0000:0d:00.0',
  provider_suffix: 'Hot',
  health: { state: 'unhealthy', reason: 'is hot', since: new Date().toISOString() },
});

async function bind(profile: string, provider: string): Promise<InstanceBinding> {
  await world.createBound(profile, { provider: providerUuid(provider), instance });
  return (await world.deps.store.arqs.binding(instance)) as InstanceBinding;
}

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  const { deps } = world;
  const notOffered = [{ address: '0000:0f:00.0', driver: 'pci', reason: 'is in use by nvme' }];
  const boards = [aDevice({ handles: 2 }), gpu, hot];
  await applySettled(deps, 'cmp1', aReport(boards, { not_offered: notOffered }), Date.now());
  await applySettled(deps, 'cmp2', aReport([aDevice()]), Date.now() - hourMs);
  await applySettled(deps, 'cmp3', aReport([aDevice()]), Date.now());
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
});

const call = (method: string, path: string, body?: unknown) => operator(method, path, { body });

/** The stuck jobs, as an operator finds them so much later. */
async function lookedAt(laterMs: number) {
  const deps = { ...world.deps, clock: () => Date.now() + laterMs };
  const found = await readIncidents['stuck-job'](deps, undefined, 100);
  return found.flatMap(({ row }) => row ?? []);
}
const incidents = async (query = '') => (await call('GET', `/incidents${query}`)).json.incidents;

describe('GET /operator/v1/incidents', () => {
  it('lists hosts that are away, devices not offered and unhealthy devices', async () => {
    expect(await incidents()).toMatchObject([
      {
        kind: 'host-away',
        hostname: 'cmp2',
        action: 'forget',
        runbook: 'docs/operations.md#a-host-that-is-away',
      },
      {
        kind: 'not-offered',
        hostname: 'cmp1',
        reason: 'The device at 0000:0f:00.0 is in use by nvme.',
      },
      {
        kind: 'unhealthy-device',
        hostname: 'cmp1',
        reason: 'The device at 0000:0d:00.0 is hot.',
        next_step: expect.stringContaining('Repair'),
      },
    ]);
  });

  it('lists the devices of a host that are ill for one reason as one', async () => {
    const since = '2026-11-01T00:00:00Z';
    const health = { state: 'unhealthy', reason: 'is inaccessible', since } as const;
    const ill = [1, 2].map((slot) =>
      aDevice({ address: `0000:0${slot}:00.0`, provider_suffix: `Card${slot}`, health }),
    );
    await applySettled(world.deps, 'cmp7', aReport(ill, { sequence: 1 }), Date.now());
    expect(await incidents('?kind=unhealthy-device&host=cmp7')).toMatchObject([
      { reason: expect.stringMatching(/^Each of 2 devices is inaccessible: those at 0000:01/) },
    ]);
    await applySettled(world.deps, 'cmp7', aReport([], { sequence: 2 }), Date.now());
    expect(await incidents('?kind=unhealthy-device&host=cmp7')).toEqual([]);
  });

  it('lists a host whose clock is more than five seconds wrong, until it is right', async () => {
    let sequence = 20;
    const report = async (ahead_ms: number) => {
      const clock = { ahead_ms, within_ms: 600 };
      sequence += 1;
      await applySettled(world.deps, 'cmp3', aReport([], { sequence, clock }), Date.now());
      const json = (await call('GET', '/hosts/cmp3')).json as {
        readonly clock_ahead_seconds?: number | null;
      };
      const found = await incidents('?kind=clock-skew');
      return [json.clock_ahead_seconds, found.map((each: { reason: string }) => each.reason)];
    };
    expect((await call('GET', '/hosts/cmp3')).json).toMatchObject({ clock_ahead_seconds: null });
    expect(await report(4_900)).toEqual([5, []]);
    // A difference within what a measurement may be wrong by writes nothing.
    expect(await report(6_200)).toEqual([5, []]);
    const ahead = "The clock of the host is 120 s ahead of the control plane's.";
    expect(await report(120_300)).toEqual([120, [ahead]]);
    expect((await call('GET', '/hosts')).json.hosts).toContainEqual(
      expect.objectContaining({ hostname: 'cmp3', clock_ahead_seconds: 120 }),
    );
    const behind = "The clock of the host is 61 s behind the control plane's.";
    expect(await report(-60_600)).toEqual([-61, [behind]]);
    expect(await report(-200)).toEqual([0, []]);
  });

  it('lists a conflict of identity while it lasts', async () => {
    const { inventory } = world.deps.store;
    const now = new Date().toISOString();
    await inventory.takeLease('cmp3', 'test', now, now);
    const { host } = await inventory.host('cmp3');
    const boot = { bootId: host.bootId ?? '', lastAt: now, sequence: 8 };
    await inventory.putConflict(host, { since: now, boots: [boot] }, 'test');
    await applySettled(world.deps, 'cmp3', aReport([], { sequence: 9 }), Date.now());
    expect(await incidents('?kind=conflict')).toMatchObject([
      { kind: 'conflict', hostname: 'cmp3', action: 'settle' },
    ]);
    expect((await call('GET', '/hosts?state=conflict')).json.hosts).toMatchObject([
      { hostname: 'cmp3' },
    ]);
    const settle = (boot_id: string) => call('POST', '/hosts/cmp3/settle', { boot_id });
    const { status, json } = await settle(instance);
    expect([status, json.error]).toEqual([409, expect.stringContaining(boot.bootId)]);
    const ended = await settle(boot.bootId);
    expect([ended.status, ended.json]).toMatchObject([200, { boot_id: boot.bootId }]);
    expect((await settle(boot.bootId)).json.error).toContain('no conflict');
    await applySettled(world.deps, 'cmp3', aReport([], { sequence: 10 }), Date.now());
    expect(await incidents('?kind=conflict')).toEqual([]);
  });

  it('a bind is stuck once its deadline is long over, and then failed', async () => {
    const binding = await bind('vgpu', 'cmp1_Gpu');
    expect(await incidents('?kind=stuck-job')).toEqual([]);
    const [stuck] = await lookedAt(hourMs);
    expect(stuck).toMatchObject({ kind: 'stuck-job', instanceUuid: instance });
    const deadlineMs = Date.parse(binding.startedAt) + workDueMs('bind', world.deps.settings);
    expect(stuck?.reason).toContain(`its deadline was ${new Date(deadlineMs).toISOString()}`);
    expect((await call('GET', '/hosts/cmp1')).json).toMatchObject({ servers: 1 });
    expect((await call('GET', '/hosts/cmp2')).json).toMatchObject({ servers: 0 });
    await failBind(world.deps, binding, { cause: 'host', reason: 'The GPU is on fire.' });
    expect(await incidents('?kind=failed-bind')).toMatchObject([
      {
        hostname: 'cmp1',
        instance_uuid: instance,
        arq_uuid: binding.arqUuids[0],
        project_id: binding.projectId,
        reason: 'The GPU is on fire.',
      },
    ]);
    expect(await incidents('?kind=failed-bind&host=cmp2')).toEqual([]);
  });

  it('lists a bind that was refused, although it has changed nothing', async () => {
    const instance = nextInstance();
    const arqs = await world.createArqs('vgpu');
    const ask = (uuids: readonly string[]) =>
      world.bindArqs(uuids, { provider: providerUuid('cmp1_Gpu'), instance, host: 'cmp2' });
    const onHost = () => incidents('?kind=failed-bind&host=cmp2');
    expect((await ask([derivedUuid('no ARQ')])).status).toBe(404);
    expect(await onHost()).toEqual([]);
    expect((await ask(arqs)).status).toBe(400);
    expect(await onHost()).toMatchObject([
      {
        instance_uuid: instance,
        arq_uuid: arqs[0],
        reason: expect.stringContaining('is not on host'),
      },
    ]);
    await world.deleteArqsOf(instance);
  });

  it('lists a quarantine until its device is released by force', async () => {
    const { store } = world.deps;
    const stored = await store.inventory.provider(providerUuid('cmp1_Gpu'));
    const [handle] = stored?.handles ?? [];
    const work = handle?.release ? await store.releases.awaited(handle.release) : undefined;
    if (!work) throw new Error('The failed bind has no release.');
    const leftAt = '2026-11-01T00:00:00.000Z';
    const thrice = { ...work, quarantine: 'EIO', retries: 2, leftAt };
    expect(workIncident(thrice, undefined, 0, 0)).toMatchObject({
      since: leftAt,
      reason: '1 attach handles after 3 failed cleanings: EIO',
    });
    await quarantine(world.deps, work, 'The host did not answer.');
    const [incident] = await incidents('?kind=quarantine');
    expect(incident).toMatchObject({
      hostname: 'cmp1',
      device_uuid: stored?.deployable.deviceUuid,
      reason: '1 attach handles: The host did not answer.',
    });
    expect(incident?.action).toBe('force-release');
    const path = `/v2/devices/${incident?.device_uuid}/force_release`;
    const body = { reason: 'checked by an operator' };
    expect((await world.ask('POST', path, { body })).status).toBe(202);
    expect(await incidents('?kind=quarantine')).toEqual([]);
  });

  it('pages over all kinds', async () => {
    const whole = await incidents();
    const found: unknown[] = [];
    let query = '?limit=1';
    while (query !== '') {
      const { json } = await call('GET', `/incidents${query}`);
      found.push(...json.incidents);
      query = json.incidents_links ? `?${json.incidents_links[0].href.split('?')[1]}` : '';
    }
    expect(found).toEqual(whole);
    expect(whole.length).toBeGreaterThan(3);
  });
});

describe('POST /operator/v1/reconcile', () => {
  it.each([
    [{}, 400, 'host'],
    [{ host: 'cmp1', dry_run: 'no' }, 400, 'dry_run'],
    [{ host: 'cmp9' }, 404, 'cmp9'],
  ])('%j: %i that names %s', async (body, expected, named) => {
    const { status, json } = await call('POST', '/reconcile', body);
    expect([status, json.error]).toEqual([expected, expect.stringContaining(named)]);
  });

  it('shows what differs, and has only that repaired', async () => {
    const dry = await call('POST', '/reconcile', { host: 'cmp1' });
    expect([dry.status, dry.json.dry_run, dry.json.repairing]).toEqual([200, true, []]);
    expect(dry.json.differing).toHaveLength(3);
    expect(dry.json.differing[0]).toMatchObject({ placement: 'nothing' });
    const drift = await incidents('?kind=drift&host=cmp1');
    expect(drift).toHaveLength(3);
    expect(drift[0]).toMatchObject({
      reason: expect.stringContaining(', nothing in Placement.'),
      action: 'reconcile',
    });
    const sent = await call('POST', '/reconcile', { host: 'cmp1', dry_run: false });
    expect([sent.status, sent.json.repairing.length]).toEqual([202, 3]);
    const { startConsumers } = await import('#local/lambda/consumers.ts');
    const { silentLog } = await import('#core/log.ts');
    const consumers = await startConsumers({ log: silentLog });
    await eventually(
      async () => (await call('POST', '/reconcile', { host: 'cmp1' })).json.differing,
    ).toEqual([]);
    const none = await call('POST', '/reconcile', { host: 'cmp1', dry_run: false });
    expect([none.status, none.json.repairing]).toEqual([200, []]);
    expect(await incidents('?kind=drift&host=cmp1')).toEqual([]);
    await consumers.stop();
  });
});
