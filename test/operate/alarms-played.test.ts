// Each alarm on our own metrics, raised and ended: the metric lines that the system writes cross
// the template's threshold, and the runbook's first command and remedy bring the alarm to green.
// The alarms of dead-letter queues are in alarms-played-queues.test.ts.
//
// @module-tag long

import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { SomeServer } from '#core/clients/openstack/nova.ts';
import { toDomainEvents } from '#core/domain/outbox/domain-events.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import type { Metrics } from '#core/metrics.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { countEvents } from '#core/operations/outbox/count-changes.ts';
import { notifyNova } from '#core/operations/outbox/notify-nova.ts';
import { syncHost } from '#core/operations/placement/reconcile.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { changesConsumer } from '#functions/consumers/changes.ts';
import { type AlarmName, alarmEntries, inStage } from '#infra/monitoring/alarm-entries.ts';
import { password } from '#local/openstack/keystone/catalog.ts';
import { readSurroundings, run } from '#operate/ops/run.ts';
import { AlarmStage, alarmNames } from '#test/support/aws/alarm-stage.ts';
import { gpu, minutes, provider, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { applySettled, aReport, hasSettled } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

/** Metrics that only AWS makes: their values are given, and the remedy is AWS's. */
const given: readonly AlarmName[] = [
  'functions-throttled',
  'tables-throttled',
  'changes-late',
  'announcements-late',
  'placement-late',
];
/** In alarms-played-api.test.ts. */
const ofApi: readonly AlarmName[] = ['api-errors', 'unauthorized'];

const node = '00000000-0000-4000-8000-00000000c0de';
const cmp1 = perFile(startVgpuHost);

beforeAll(() => cmp1.deps.clients.placement.createProvider({ uuid: node, name: 'cmp1' }));
beforeEach(() => cmp1.bootAfresh());

const countedBy = (metrics: Metrics) => ({ ...cmp1.deps, metrics });

/** Runs the first command of the alarm as operators do; returns what it prints. */
async function firstCommandOf(name: AlarmName): Promise<string> {
  const [, ...words] = inStage(stage, alarmEntries[name].firstCommand).split(' ');
  const told: string[] = [];
  const out = (text: string) => void told.push(text);
  const environment = {
    OS_AUTH_URL: cmp1.world.urls.keystone,
    OS_USERNAME: 'admin',
    OS_PASSWORD: password,
    OS_PROJECT_NAME: 'admin',
  };
  const around = { ...readSurroundings(process), environment, out, show: out, err: out };
  expect(await run(words, around), told.join('\n')).toBe(0);
  return told.join('\n');
}

/** What the sweep's measurement counts of the fleet, and its comparison of the host. */
async function countHost(played: AlarmStage): Promise<void> {
  await played.counted(async (metrics) => {
    const deps = countedBy(metrics);
    await measureFleet(deps, await allHosts(deps));
    await syncHost(deps, 'cmp1');
  });
}

/** Counts a binding's change as the stream brings it. */
async function relay(played: AlarmStage, change: Change): Promise<void> {
  await played.counted(async (metrics) => countEvents(metrics, toDomainEvents(change)));
}

/** Relays the change of a bind that takes some minutes and ends as `operation` says. */
async function relayBind(
  played: AlarmStage,
  operation: 'succeeded' | 'failed',
  minutesLong = 0,
  look = async () => {},
): Promise<void> {
  const { instance } = await cmp1.bind();
  await cmp1.startBindOf(instance);
  const { arqs } = cmp1.deps.store;
  const before = await arqs.binding(instance);
  cmp1.setClockAhead(minutesLong);
  await cmp1.end('bind', operation, { reason: 'The disk is full.' });
  cmp1.setClockAhead(0);
  const after = await arqs.binding(instance);
  if (!before || !after) throw new Error(`Instance ${instance} has no binding.`);
  await relay(played, { kind: 'instance', before, after });
  await look();
  await cmp1.bootAfresh();
}

/** The agents of some hosts, which have reported before, connect or disconnect. */
async function presence(
  played: AlarmStage,
  hosts: readonly string[],
  eventType: 'connected' | 'disconnected',
  at = Date.now(),
): Promise<void> {
  await played.counted(async (metrics) => {
    for (const host of hosts) {
      const event = { clientId: host, timestamp: at, eventType };
      await recordPresence(countedBy(metrics), host, event);
    }
  });
}

type Play = (played: AlarmStage) => Promise<void>;

const plays: Readonly<Partial<Record<AlarmName, Play>>> = {
  // AWS alone makes this metric, too; fewer days are worse.
  'certificate-ends': async (played) => {
    played.give(30);
    expect(played.state()).toBe('OK');
    played.nextPeriod();
    played.give(29);
    expect(played.state()).toBe('ALARM');
    played.nextPeriod();
    played.give(395);
  },
  'handles-quarantined': async (played) => {
    const { instance } = await cmp1.bound();
    await cmp1.remove(instance);
    await cmp1.startReleases();
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 10 * minutes });
    await countHost(played);
    expect(played.state()).toBe('ALARM');
    expect(await firstCommandOf('handles-quarantined')).toMatch(/quarantine.*cmp1/s);
    const path = `/v2/devices/${deviceUuid('cmp1', gpu.address)}/force_release`;
    const body = { cleaned: true, reason: 'looked at it' };
    expect((await cmp1.world.ask('POST', path, { body })).status).toBe(200);
    played.nextPeriod();
    await countHost(played);
  },
  'devices-not-attached': async (played) => {
    const { instance } = await cmp1.bound();
    const { inventory } = cmp1.deps.store;
    const held = (await inventory.provider(provider))?.handles.find(({ claim }) => claim);
    const readDevice = async () => {
      const { devices } = await inventory.host('cmp1');
      const device = devices.find(({ address }) => address === gpu.address);
      if (!device) throw new Error('The GPU is not stored.');
      return device;
    };
    const at = new Date().toISOString();
    const unit = { unit: held?.uuid ?? '', instance_uuid: instance, is_attached: false, since: at };
    const before = await readDevice();
    await cmp1.report([{ ...gpu, seen_attachments: { at, units: [unit] } }]);
    const after = await readDevice();
    await relay(played, { kind: 'device', before, after });
    expect(played.state()).toBe('ALARM');
    expect(await firstCommandOf('devices-not-attached')).toContain(instance);
    await cmp1.report();
    played.nextPeriod();
    await relay(played, { kind: 'device', before: after, after: await readDevice() });
  },
  'reports-in-conflict': async (played) => {
    const host = 'cloned';
    const [original, clone] = ['a', 'b'].map(
      (each) => `${each.repeat(8)}-0000-4000-8000-000000000001`,
    );
    let sequence = 0;
    const report = async (boot_id = '') => {
      sequence += 1;
      const said = aReport([gpu], { boot_id, sequence });
      const receivedAt = Date.now() + sequence * 1000;
      await played.counted((metrics) => applySettled(countedBy(metrics), host, said, receivedAt));
      await hasSettled(cmp1.deps, host);
    };
    for (const boot of [original, clone]) await report(boot);
    expect(played.state()).toBe('OK');
    await report(original);
    expect(played.state()).toBe('ALARM');
    expect(await firstCommandOf('reports-in-conflict')).toContain(host);
    const later = { ...cmp1.deps, clock: () => Date.now() + 25 * minutes };
    await endConflict(later, host, original ?? '');
    played.nextPeriod();
    await report(original);
  },
  'reaper-refuses': async (played) => {
    const { instance } = await cmp1.bound();
    const listed: SomeServer[] = [];
    let laterMs = 0;
    const reapLater = () =>
      played.counted((metrics) => {
        const { clients } = cmp1.deps;
        laterMs += 11 * minutes;
        const now = Date.now() + laterMs;
        const nova = {
          ...clients.nova,
          server: async (uuid: string) =>
            listed.some((each) => each.uuid === uuid) ? { projectId: 'other' } : 'not-found',
          someServers: async () => listed,
        } as typeof clients.nova;
        return reap({ ...countedBy(metrics), clock: () => now, clients: { ...clients, nova } });
      });
    await reapLater();
    await played.inEachPeriod(reapLater);
    expect(played.state()).toBe('ALARM');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
    // The service user gets a role that lists the servers of all projects.
    listed.push({ uuid: 'bbbbbbbb-0000-4000-8000-000000000001', projectId: 'another project' });
    played.nextPeriod();
    await reapLater();
    expect(await cmp1.deps.store.arqs.binding(instance)).toBeUndefined();
  },
  'binds-fail': async (played) => {
    for (let failure = 1; failure <= 5; failure++) {
      expect(played.state()).toBe('OK');
      await relayBind(played, 'failed', 0, async () => {
        expect(await firstCommandOf('binds-fail')).toContain('The disk is full.');
      });
    }
    expect(played.state()).toBe('ALARM');
    // The disk of the host has space.
    played.nextPeriod();
    await relayBind(played, 'succeeded');
  },
  'binds-slow': async (played) => {
    await played.inEachPeriod(() => relayBind(played, 'succeeded', 3));
    expect(played.state()).toBe('ALARM');
    played.nextPeriod();
    await relayBind(played, 'succeeded');
  },
  'nova-not-told': async (played) => {
    const { instance } = await cmp1.bound();
    const binding = await cmp1.deps.store.arqs.binding(instance);
    const message = { instance_uuid: instance, bind_id: binding?.bindId ?? '' };
    const tellAfter = (ms: number) =>
      played.counted((metrics) => {
        const { clients } = cmp1.deps;
        const nova = { ...clients.nova, postExternalEvents: async () => [] };
        const clock = () => Date.now() + ms;
        return notifyNova(
          { ...countedBy(metrics), clock, clients: { ...clients, nova } },
          message,
          1,
        );
      });
    await tellAfter(10 * minutes);
    expect(played.state()).toBe('ALARM');
    played.nextPeriod();
    await tellAfter(0);
    expect(played.samples.at(-1)?.name).toBe('NovaToldAfter');
  },
  'devices-offered-twice': async (played) => {
    const { placement } = cmp1.deps.clients;
    await countHost(played);
    expect(played.state()).toBe('OK');
    const uuid = randomUUID();
    const name = `cmp1_${gpu.address}`.toUpperCase().replace('CMP1', 'cmp1');
    const { generation } = await placement.createProvider({ uuid, name, parentUuid: node });
    await placement.putTraits(uuid, generation, ['OWNER_NOVA']);
    played.nextPeriod();
    await countHost(played);
    expect(played.state()).toBe('ALARM');
    await placement.deleteProvider(uuid);
    played.nextPeriod();
    await countHost(played);
  },
  // Before there are other hosts.
  'hosts-absent': async (played) => {
    await cmp1.disconnect(60 * minutes);
    await countHost(played);
    expect(played.state()).toBe('ALARM');
    expect(await firstCommandOf('hosts-absent')).toMatch(/cmp1 +away/);
    await cmp1.setPresence({ isConnected: true, version: 2, at: new Date().toISOString() });
    played.nextPeriod();
    await countHost(played);
  },
  'hosts-lost': async (played) => {
    const hosts = Array.from({ length: 10 }, (_, index) => `rack-${index}`);
    const said = aReport([]);
    const ago = (count: number) => Date.now() - count * minutes;
    for (const host of hosts) await applySettled(cmp1.deps, host, said, ago(4));
    await presence(played, hosts, 'connected', ago(3));
    played.nextPeriod();
    // An agent has a minute to reconnect before its host counts as away.
    await presence(played, hosts, 'disconnected', ago(2));
    expect(played.state()).toBe('ALARM');
    expect(await firstCommandOf('hosts-lost')).toContain('rack-9');
    await presence(played, hosts, 'connected');
  },
  'reports-silent': async (played) => {
    await countHost(played);
    expect(played.state()).toBe('ALARM');
    // Given: SQS counts the reports that AWS IoT's rule has sent.
    const dimensions = { QueueName: `${stage}-inventory-reports` };
    played.add({ namespace: 'AWS/SQS', name: 'NumberOfMessagesSent', dimensions, value: 4 });
  },
  'sweep-fails': async (played) => {
    const { deps } = cmp1;
    const overdue = async () => Promise.reject(new Error('The tables are away.'));
    const listings = { ...deps.listings, overdue };
    await played.inEachPeriod(() => played.invoked('sweep', () => sweep({ ...deps, listings })));
    expect(played.state()).toBe('ALARM');
    played.nextPeriod();
    await played.invoked('sweep', () => sweep(deps));
  },
  'consumers-fail': async (played) => {
    const { deps } = cmp1;
    const send = async () => Promise.reject(new Error('SQS is away.'));
    const invoke = (given = deps) =>
      played.invoked('changes', () => changesConsumer(() => given)({ Records: [] }, {} as never));
    await played.inEachPeriod(async () => {
      for (let attempt = 1; attempt <= 3; attempt++) await invoke({ ...deps, queues: { send } });
    });
    expect(played.state()).toBe('ALARM');
    played.nextPeriod();
    await invoke();
  },
};

it.each(Object.keys(plays) as AlarmName[])(
  '%s: raised by what the system counts, and green after its runbook',
  async (name) => {
    const played = new AlarmStage(name);
    expect(played.state()).toBe('OK');
    await plays[name]?.(played);
    expect(played.samples.length).toBeGreaterThan(0);
    expect(played.state()).toBe('OK');
  },
);

it.each(given)('%s: raised by a given value of a metric that AWS alone makes', async (name) => {
  const played = new AlarmStage(name);
  const { Threshold } = played.alarm;
  await played.inEachPeriod(async () => played.give(Threshold - 1));
  expect(played.state()).toBe('OK');
  await played.inEachPeriod(async () => played.give(Threshold));
  expect(played.state()).toBe('ALARM');
  played.nextPeriod();
  played.give(0);
  expect(played.state()).toBe('OK');
});

it('no alarm is without a play', () => {
  const ofQueues = alarmNames.filter((name) => name.endsWith('-dead'));
  const named = [...Object.keys(plays), ...given, ...ofApi, ...ofQueues];
  expect(named.sort()).toEqual([...alarmNames].sort());
});
