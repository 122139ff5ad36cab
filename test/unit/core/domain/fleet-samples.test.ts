import { describe, expect, it } from 'vitest';
import { measureBinds, measureHosts, needsHostRow } from '#core/domain/fleet/measure-minute.ts';
import { addRound, reportDay } from '#core/domain/fleet/report.ts';
import { boundSeries, others, sumSamples, toSample } from '#core/domain/fleet/samples.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { Sample } from '#core/shapes/fleet.ts';

describe('samples of the fleet', () => {
  it('are added where metric and labels are the same', () => {
    const one = toSample('cyborg_devices', ['GPU', 'a', 'ok']);
    const other = toSample('cyborg_devices', ['GPU', 'b', 'ok'], 2);
    expect(sumSamples([one, other], [one])).toEqual([{ ...one, value: 2 }, other]);
  });

  it('keep the largest series, and add the others without losing a device', () => {
    const models = Array.from({ length: 1000 }, (_, index) => {
      return toSample('cyborg_devices', ['GPU', `model-${index}`, 'ok'], index + 1);
    });
    const bound = boundSeries([...models, toSample('cyborg_hosts_drained', [], 7)]);
    expect(bound).toHaveLength(202);
    expect(bound).toContainEqual(toSample('cyborg_devices', ['GPU', 'model-999', 'ok'], 1000));
    expect(bound).toContainEqual(toSample('cyborg_hosts_drained', [], 7));
    const devices = bound.filter(({ metric }) => metric === 'cyborg_devices');
    expect(devices.find(({ labels: [type] }) => type === others)?.labels).toEqual(
      Array(3).fill(others),
    );
    expect(devices.reduce((sum, { value }) => sum + value, 0)).toBe(500_500);
  });
});

describe('handles of models that are counted together', () => {
  it('keep their uses, which alarms count', () => {
    const uses = ['free', 'quarantined'];
    const models = Array.from({ length: 300 }, (_, index) => {
      const use = uses[index % 2] ?? '';
      return toSample('cyborg_handles', ['VGPU', `model-${index}`, use], index + 1);
    });
    const ofUse = (samples: readonly Sample[], use: string) =>
      samples
        .filter(({ labels }) => labels.at(-1) === use)
        .reduce((sum, { value }) => sum + value, 0);
    const bound = boundSeries(models);
    expect(bound).toHaveLength(202);
    for (const use of uses) expect(ofUse(bound, use)).toBe(ofUse(models, use));
  });
});

describe('states of hosts', () => {
  const since = '2026-01-01T00:00:00Z';
  const host: HostSummary = { hostname: 'a', firstSeen: since, devices: 1, notOffered: 0 };
  const online = { ...host, bootId: 'one', presence: { isConnected: true, since } };

  it('follow from the summary alone while the agent is connected, or two report', () => {
    expect(needsHostRow(online)).toBe(false);
    expect(needsHostRow({ ...host, conflictSince: since })).toBe(false);
    expect(needsHostRow({ ...online, presence: { isConnected: false, since } })).toBe(true);
    expect(needsHostRow(host)).toBe(true);
  });

  it('are counted with their incidents, and a drained host as online', () => {
    const hosts = [
      online,
      { ...host, hostname: 'b' },
      { ...host, hostname: 'c', conflictSince: since },
      { ...host, hostname: 'd', clockAheadSeconds: -60 },
    ];
    const measured = measureHosts(
      hosts,
      new Map([
        ['b', 'away'],
        ['d', 'drained'],
      ]),
    );
    const values = measured.filter(({ value }) => value > 0);
    expect(values.map(({ labels: [label], value }) => [label, value])).toEqual([
      ['online', 2],
      ['away', 1],
      ['conflict', 1],
      ['conflict', 1],
      ['host-away', 1],
      ['clock-skew', 1],
    ]);
    expect(measured).toContainEqual(toSample('cyborg_incidents', ['lost-providers'], 0));
  });
});

it('measures how long a host prepared a bind, without reprovisioning', () => {
  const at = '2026-01-01T00:00:08Z';
  const since = '2026-01-01T00:00:01Z';
  const binds = measureBinds({ bound: 3, failed: 1 }, [
    { from: 'BindStarted', at, since },
    { from: 'provisioning', at, since },
  ]);
  const values = new Map(
    binds.map(({ metric, labels: [label], value }) => [`${metric} ${label}`, value]),
  );
  expect(values.get('cyborg_binds bound')).toBe(3);
  expect(values.get('cyborg_binds failed')).toBe(1);
  const name = 'cyborg_bind_preparation_seconds';
  expect([5, 10, '+Inf', 'sum'].map((le) => values.get(`${name} ${le}`))).toEqual([0, 1, 1, 7]);
});

it('reports a disabled device as healthy, and means of the rounds of a day', () => {
  const disabled = toSample('cyborg_devices', ['GPU', 'a', 'disabled'], 3);
  const hot = toSample('cyborg_devices', ['GPU', 'a', 'unhealthy']);
  const day = addRound(addRound([], [disabled, hot]), [disabled]);
  expect(reportDay('2026-01-01', day)).toMatchObject([{ devices: 3.5, healthy: 3 }]);
});
