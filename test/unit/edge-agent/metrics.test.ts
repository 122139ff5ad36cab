import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Session } from '#agent/broker/mqtt.ts';
import { createAgentMetrics, serveMetrics } from '#agent/report/agent-metrics.ts';
import { freePort } from '#local/ports.ts';
import { aDevice } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };

function aSession() {
  const lost = new AbortController();
  const session: Session = {
    publish: async () => {},
    subscribe: async () => {},
    onMessage: () => {},
    lost: lost.signal,
    end: async () => {},
  };
  return { session, lost };
}

function metricsAt(wallMs: number) {
  const metrics = createAgentMetrics({
    drivers: ['pci', 'qat'],
    skew: () => ({ aheadMs: -1500, withinMs: 10 }),
    readings: () => new Map([['0000:05:00.0', { celsius: 41, uncorrectable: 2 }]]),
    clock: { wallMs: () => wallMs },
  });
  const values = () => {
    const lines = metrics.text('text/plain').text.split('\n');
    return new Map(
      lines
        .filter((line) => line.startsWith('cyborg_'))
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
  };
  return { metrics, values };
}

describe("the agent's metrics", () => {
  it('have the devices of the last discovery by model and health, and nothing else of them', () => {
    const { metrics, values } = metricsAt(1_000_500);
    const since = '2026-01-01T00:00:00Z';
    const gpu = { type: 'GPU', vendor: '0x10DE', product: '20b5' } as const;
    const hot = { state: 'unhealthy', reason: 'is hot', since } as const;
    const devices = [
      aDevice({ ...gpu, address: '0000:01:00.0' }),
      aDevice({ ...gpu, address: '0000:02:00.0', health: hot }),
      aDevice({ ...gpu, address: '0000:03:00.0', health: hot }),
    ].map((device) => ({ device, digest: 'd' }));
    metrics.discovered({ devices, failedDrivers: ['qat'], notOffered: [], novaVersions: [] });
    expect(Object.fromEntries(values())).toMatchObject({
      'cyborg_agent_devices{type="GPU",model="10de:20b5",health="unknown"}': 1,
      'cyborg_agent_devices{type="GPU",model="10de:20b5",health="unhealthy"}': 2,
      'cyborg_agent_driver_failed{driver="pci"}': 0,
      'cyborg_agent_driver_failed{driver="qat"}': 1,
      cyborg_agent_devices_not_offered: 0,
      cyborg_agent_last_discovery_timestamp_seconds: 1000,
      cyborg_agent_clock_ahead_seconds: -1.5,
      cyborg_agent_connected: 0,
      'cyborg_agent_device_temperature_celsius{address="0000:05:00.0"}': 41,
      'cyborg_agent_device_uncorrectable_errors{address="0000:05:00.0"}': 2,
    });
    expect(metrics.text(undefined).text).not.toMatch(/0000:0[123]/);
  });

  it('are connected until the connection is lost, or ends', async () => {
    const { metrics, values } = metricsAt(0);
    const connected = () => values().get('cyborg_agent_connected');
    const first = aSession();
    metrics.watch(first.session, 'reports');
    expect(connected()).toBe(1);
    first.lost.abort();
    expect(connected()).toBe(0);
    const second = metrics.watch(aSession().session, 'reports');
    expect(connected()).toBe(1);
    await second.end();
    expect(connected()).toBe(0);
  });

  it('have the time of the last report that was acknowledged', async () => {
    const { metrics, values } = metricsAt(5000);
    const reported = () => values().get('cyborg_agent_last_report_timestamp_seconds');
    const { session } = aSession();
    const watched = metrics.watch(session, 'reports');
    await watched.publish('jobs', '');
    expect(reported()).toBeUndefined();
    const failing = async () => {
      throw new Error('The connection was closed.');
    };
    const lost = metrics.watch({ ...session, publish: failing }, 'reports');
    await expect(lost.publish('reports', '')).rejects.toThrow();
    expect(reported()).toBeUndefined();
    await watched.publish('reports', '');
    expect(reported()).toBe(5);
  });
});

describe('the port of the metrics', () => {
  const text = () => ({ contentType: 'text/plain', text: 'a 1\n' });

  async function serve() {
    const stop = new AbortController();
    const port = await freePort({ host: '127.0.0.1', port: 0 });
    const faults: unknown[] = [];
    const noting = { ...log, error: (_event: string, fields: unknown) => faults.push(fields) };
    serveMetrics(port, { text }, { log: noting, stop: stop.signal });
    return { port, stop, faults };
  }

  it('answers GET /metrics on loopback alone, and 404 elsewhere', async () => {
    const { port, stop } = await serve();
    const ask = (path: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${port}${path}`, { method });
    expect(await (await ask('/metrics')).text()).toBe('a 1\n');
    expect((await ask('/')).status).toBe(404);
    expect((await ask('/metrics', 'POST')).status).toBe(404);
    await expect(fetch(`http://[::1]:${port}/metrics`)).rejects.toThrow();
    stop.abort();
    await eventually(() =>
      ask('/metrics').then(
        () => 'answered',
        () => 'refused',
      ),
    ).toBe('refused');
  });

  it('does not open more than eight connections at once', async () => {
    const { port, stop } = await serve();
    const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'));
    let closed = 0;
    for (const socket of sockets) socket.on('close', () => closed++).on('error', () => {});
    await eventually(async () => closed).toBe(12);
    for (const socket of sockets) socket.destroy();
    stop.abort();
  });

  it('that is taken is a line of the log', async () => {
    const { port, stop } = await serve();
    await eventually(() =>
      fetch(`http://127.0.0.1:${port}/metrics`).then(
        ({ status }) => status,
        () => 0,
      ),
    ).toBe(200);
    const faults: unknown[] = [];
    const noting = { ...log, error: (_event: string, fields: unknown) => faults.push(fields) };
    serveMetrics(port, { text }, { log: noting, stop: stop.signal });
    await eventually(async () => faults).toMatchObject([{ port }]);
    stop.abort();
  });
});
