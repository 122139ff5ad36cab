import { describe, expect, it } from 'vitest';
import { runAgent } from '#agent/agent.ts';
import type { Session } from '#agent/broker/mqtt.ts';
import type { Skew } from '#agent/cloud-clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { createRediscoverRequests } from '#agent/report/rediscover-requests.ts';
import { type InventoryReport, inventoryReport } from '#core/contracts/report/inventory-report.ts';
import type { AttachType } from '#core/shapes/attach-handle.ts';
import { aClock, aDriver, aReportedDevice, silentLog } from '#test/support/hosts/agent.ts';

const gpu = aReportedDevice({ address: '0000:3b:00.0' });
const nic = aReportedDevice({ address: '0000:17:00.0' });
const seconds = 1000;

/** An agent of a host whose devices and broker the test controls. */
function anAgent(
  options: {
    readonly publish?: () => Promise<void>;
    readonly attachTypes?: readonly AttachType[];
    readonly skew?: () => Skew | undefined;
    readonly failureDomain?: string;
    readonly asksCards?: () => boolean;
  } = {},
) {
  const clock = aClock();
  const stop = new AbortController();
  const host = { devices: [gpu], signature: '' as string | undefined };
  const reports: InventoryReport[] = [];
  const hellos: InventoryReport[] = [];
  const topics = new Set<string>();
  const openedMs: number[] = [];
  const sessions: ('opened' | 'ended')[] = [];
  const looks = createRediscoverRequests();
  let sequence = 0;
  let loseConnection = () => {};
  let broker: 'up' | 'down' = 'up';

  const driver: Driver = {
    name: 'a_driver',
    discover: () => aDriver('a_driver', ...host.devices).discover(),
    signature: () => {
      if (host.signature === undefined) throw new Error('EIO');
      return host.signature;
    },
  };
  const openSession = async (): Promise<Session> => {
    openedMs.push(clock.monotonicMs());
    if (broker === 'down') throw new Error('connect ECONNREFUSED');
    sessions.push('opened');
    const lost = new AbortController();
    loseConnection = () => lost.abort(new Error('the connection was closed'));
    return {
      lost: lost.signal,
      end: async () => void sessions.push('ended'),
      subscribe: async () => {},
      onMessage: () => {},
      publish: async (topic, payload) => {
        await options.publish?.();
        topics.add(topic);
        const report = inventoryReport.parse(JSON.parse(payload));
        (report.is_hello ? hellos : reports).push(report);
      },
    };
  };
  const ended = runAgent(
    {
      stage: 'dev',
      thing: 'dev:cmp1:example',
      bootId: '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7',
      ...options,
      drivers: [driver],
      intervalSeconds: 60,
      discover: createDiscovery({ drivers: [driver], clock, log: silentLog }),
      sequence: { next: async () => sequence++ },
      jobs: { serve: async () => {}, idle: async () => {}, skew: () => undefined },
      looks,
      openSession,
      random: () => 0.5,
      clock,
      log: silentLog,
    },
    stop.signal,
  );
  return {
    host,
    reports,
    hellos,
    topics,
    openedMs,
    sessions,
    ended,
    looks,
    advance: (milliseconds: number) => clock.advance(milliseconds),
    loseConnection: () => loseConnection(),
    turn: (now: 'up' | 'down') => {
      broker = now;
    },
    stop: () => stop.abort(),
  };
}

function described(reports: readonly InventoryReport[]): string[][] {
  return reports.map(({ devices }) => devices.map(({ address }) => address));
}

describe('the agent', () => {
  it('reports everything, on its own topic, as soon as it is connected', async () => {
    const { advance, reports, topics } = anAgent();
    await advance(0);
    expect(described(reports)).toEqual([[gpu.address]]);
    expect([...topics]).toEqual([
      '$aws/rules/dev_inventory_reports/dev/hosts/dev:cmp1:example/inventory',
    ]);
  });

  it('says how far its clock is ahead, once it has measured it', async () => {
    let skew: Skew | undefined;
    const { advance, host, reports } = anAgent({ skew: () => skew });
    await advance(0);
    skew = { aheadMs: 120_000, withinMs: 600 };
    host.devices = [...host.devices, aReportedDevice({ address: '0000:99:00.0' })];
    await advance(60 * seconds);
    expect(reports.map(({ clock }) => clock)).toEqual([
      undefined,
      { ahead_ms: 120_000, within_ms: 600 },
    ]);
  });

  it('names its failure domain in each report, and asks for cards until it has the answer', async () => {
    let isAnswered = false;
    const asksCards = () => !isAnswered;
    const { advance, hellos, reports } = anAgent({ failureDomain: 'rack-12', asksCards });
    await advance(0);
    isAnswered = true;
    await advance(1200 * seconds);
    const named = [...hellos, ...reports].map((each) => each.failure_domain);
    expect(named).toEqual([hellos, reports].flat().map(() => 'rack-12'));
    expect(hellos[0]?.asks_cards).toBe(true);
    expect([reports[0], reports.at(-1)].map((each) => each?.asks_cards)).toEqual([true, undefined]);
  });

  it('names what its hypervisor takes in each report, the first one included', async () => {
    const { advance, hellos, reports } = anAgent({ attachTypes: ['PCI', 'MDEV'] });
    await advance(0);
    await advance(1200 * seconds);
    const named = [...hellos, ...reports].map(({ attach_types: types }) => types);
    expect(named).toEqual([hellos, reports].flat().map(() => ['PCI', 'MDEV']));
    expect(reports.length).toBeGreaterThan(1);
    const silent = anAgent();
    await silent.advance(0);
    for (const report of [...silent.hellos, ...silent.reports]) {
      expect(report).not.toHaveProperty('attach_types');
    }
  });

  it('names its boot on each connection, before it asks its drivers, which all count as failed', async () => {
    const { advance, hellos, reports, loseConnection } = anAgent();
    await advance(0);
    loseConnection();
    await advance(60 * seconds);
    const boot_id = reports[0]?.boot_id;
    const hello = { boot_id, manifest: {}, failed_drivers: ['a_driver'], devices: [] };
    expect(hellos).toMatchObject([hello, hello]);
    expect(hellos[0]?.sequence).toBeLessThan(reports[0]?.sequence ?? 0);
  });

  it('ends the connection on which its hello was refused before it opens another', async () => {
    const refusals = [new Error('not authorized')];
    const publish = async () => {
      const refusal = refusals.pop();
      if (refusal) throw refusal;
    };
    const { advance, sessions } = anAgent({ publish });
    await advance(60 * seconds);
    expect(sessions).toEqual(['opened', 'ended', 'opened']);
  });

  it('is silent while nothing changes, but for a heartbeat each 20 minutes', async () => {
    const { advance, reports } = anAgent();
    await advance(1199 * seconds);
    expect(reports).toHaveLength(1);
    await advance(1202 * seconds);
    expect(described(reports)).toEqual([[gpu.address], [], []]);
  });

  it('reports everything again after an hour', async () => {
    const { advance, reports } = anAgent();
    await advance(3601 * seconds);
    expect(described(reports).at(-1)).toEqual([gpu.address]);
    expect(reports).toHaveLength(4);
  });

  it('reports a change at its next tick', async () => {
    const { advance, reports, host } = anAgent();
    await advance(1 * seconds);
    host.devices = [gpu, nic];
    await advance(60 * seconds);
    expect(described(reports)).toEqual([[gpu.address], [nic.address]]);
  });

  it('reports a change within five seconds after the host shows it', async () => {
    const { advance, reports, host } = anAgent();
    await advance(1 * seconds);
    host.devices = [];
    host.signature = 'gone';
    await advance(5 * seconds);
    expect(reports.at(-1)?.manifest).toEqual({});
  });

  it('reports at once what a job has changed', async () => {
    const { advance, reports, host, looks } = anAgent();
    await advance(1 * seconds);
    host.devices = [gpu, nic];
    const told = looks.ask('changes');
    await advance(0);
    expect(await told).toBeUndefined();
    expect(described(reports)).toEqual([[gpu.address], [nic.address]]);
  });

  it('reports everything at once on request', async () => {
    const { advance, reports, looks } = anAgent();
    await advance(1 * seconds);
    const told = looks.ask('everything');
    await advance(0);
    expect(await told).toBeUndefined();
    expect(described(reports)).toEqual([[gpu.address], [gpu.address]]);
  });

  it('answers a request from a lost session through the next one', async () => {
    let acknowledge = true;
    const { advance, reports, looks, loseConnection } = anAgent({
      publish: async () => {
        if (!acknowledge) throw new Error('the broker did not acknowledge');
      },
    });
    await advance(1 * seconds);
    acknowledge = false;
    const told = looks.ask('everything');
    await advance(0);
    acknowledge = true;
    loseConnection();
    await advance(5 * seconds);
    expect(await told).toBeUndefined();
    expect(described(reports)).toEqual([[gpu.address], [gpu.address]]);
  });

  it('reports nothing, and keeps discovering, while a host has more devices than a report can name', async () => {
    const { advance, reports, host, looks } = anAgent();
    await advance(1 * seconds);
    host.devices = Array.from({ length: 5000 }, (_, index) =>
      aReportedDevice({ address: `${index.toString(16).padStart(4, '0')}:3b:00.0` }),
    );
    const told = looks.ask('everything');
    await advance(0);
    expect(await told).toContain('5000 devices, more than fit into one report');
    host.devices = [nic, gpu];
    await advance(61 * seconds);
    expect(described(reports)).toEqual([[gpu.address], [nic.address, gpu.address]]);
  });

  it('keeps reporting while the host has no signature of changes', async () => {
    const { advance, reports, host, openedMs } = anAgent();
    host.signature = undefined;
    await advance(1 * seconds);
    host.devices = [gpu, nic];
    await advance(60 * seconds);
    expect(described(reports)).toEqual([[gpu.address], [nic.address]]);
    expect(openedMs).toEqual([0]);
  });

  it('reports everything to each new session', async () => {
    const { advance, reports, loseConnection } = anAgent();
    await advance(0);
    loseConnection();
    await advance(2 * seconds);
    expect(described(reports)).toEqual([[gpu.address], [gpu.address]]);
    // The numbers between are those of the hellos.
    expect(reports.map(({ sequence }) => sequence)).toEqual([1, 3]);
  });

  it('reconnects at growing intervals while the broker is away, and at the first interval after it was back', async () => {
    const { advance, openedMs, reports, turn, loseConnection } = anAgent();
    await advance(0);
    turn('down');
    loseConnection();
    await advance(10 * seconds);
    expect(openedMs).toEqual([0, 1500, 4000, 8500]);
    turn('up');
    await advance(10 * seconds);
    loseConnection();
    await advance(2 * seconds);
    expect(openedMs).toEqual([0, 1500, 4000, 8500, 17_000, 21_500]);
    expect(reports).toHaveLength(3);
  });

  it('treats a broker that takes no report as away', async () => {
    const failing = anAgent({
      publish: async () => {
        throw new Error('the broker did not acknowledge');
      },
    });
    await failing.advance(10 * seconds);
    expect(failing.openedMs).toEqual([0, 1500, 4000, 8500]);
  });

  it('stops on request, connected or not', async () => {
    const connected = anAgent();
    await connected.advance(1 * seconds);
    connected.stop();
    await expect(connected.ended).resolves.toBeUndefined();

    const waiting = anAgent();
    waiting.turn('down');
    await waiting.advance(1 * seconds);
    waiting.stop();
    await expect(waiting.ended).resolves.toBeUndefined();
  });
});
