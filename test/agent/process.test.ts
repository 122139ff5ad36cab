// How the agent's process starts and ends.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type BrokerOptions, startBroker } from '#local/aws/broker.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { freePort } from '#local/ports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';
import { run, startAgent } from './agent-process.ts';

const directory = directoryPerFile();

/** Settings with an identity for a host. */
async function aBroker(deliver: BrokerOptions['deliver'] = async () => {}) {
  const certificates = openCertificates(directory);
  const certificate = certificates.issueHostCertificate('test:cmp1:example');
  const server = certificates.server;
  return {
    broker: await startBroker({ stage: 'test', certificates: server, deliver }),
    certificate,
  };
}

it('exits with 78 and a message for each invalid setting', async () => {
  const agent = run('edge-agent/main.ts', { CYBORG_AGENT_DRIVERS: 'gpu' });
  expect(await agent.exited()).toBe(78);
  expect(agent.output()).toContain('CYBORG_AGENT_STAGE is missing.');
  expect(agent.output()).toContain('unknown driver "gpu"; valid are fake, pci');
});

it('exits with 78 when its settings file is missing', async () => {
  const agent = run('edge-agent/main.ts', { CYBORG_AGENT_CONFIG: '/nowhere/agent.json' });
  expect(await agent.exited()).toBe(78);
  expect(agent.output()).toContain('CYBORG_AGENT_CONFIG: /nowhere/agent.json cannot be read.');
});

it("exits with 78 when an operator's driver is refused", async () => {
  const drivers = mkdtempSync(join(directory, 'drivers-'));
  const file = join(drivers, 'npu.mjs');
  writeFileSync(file, 'export default 1;', { mode: 0o600 });
  const agent = run('edge-agent/main.ts', { CYBORG_AGENT_DRIVERS_DIR: drivers });
  expect(await agent.exited()).toBe(78);
  expect(agent.output()).toContain(`${file} must have a function as its default export.`);
});

it.each(['SIGTERM', 'SIGINT'] as const)('disconnects and exits with 0 on %s', async (signal) => {
  const reasons: string[] = [];
  const { broker, certificate } = await aBroker(async (topic, payload) => {
    if (topic.includes('/disconnected/')) {
      reasons.push(
        (JSON.parse(payload.toString()) as { disconnectReason: string }).disconnectReason,
      );
    }
  });
  try {
    const agent = startAgent({ directory, broker, certificate });
    await eventually(() => agent.output()).toContain('Inventory reported');
    expect(await agent.stop(signal)).toBe(0);
    await eventually(() => reasons).toEqual(['CLIENT_INITIATED_DISCONNECT']);
  } finally {
    await broker.stop();
  }
});

it('does not start beside another agent with the same state, and starts after that one was killed', async () => {
  const { broker, certificate } = await aBroker();
  try {
    const first = startAgent({ directory, broker, certificate });
    await eventually(() => first.output()).toContain('Inventory reported');
    const second = startAgent({ directory, broker, certificate });
    expect(await second.exited()).toBe(1);
    expect(second.output()).toContain(`Another agent uses ${join(directory, 'state')}.`);
    await first.killHard();
    const third = startAgent({ directory, broker, certificate });
    await eventually(() => third.output()).toContain('Inventory reported');
    expect(await third.stop()).toBe(0);
  } finally {
    await broker.stop();
  }
});

it('stops at once when there is no broker', async () => {
  const { broker, certificate } = await aBroker();
  await broker.stop();
  const agent = startAgent({ directory, broker, certificate });
  await eventually(() => agent.output()).toContain('Not connected');
  expect(await agent.stop()).toBe(0);
});

it('answers its metrics on loopback where a setting names a port, and nowhere else', async () => {
  const { broker, certificate } = await aBroker();
  const port = await freePort({ host: '127.0.0.1', port: 0 });
  const scrape = () =>
    fetch(`http://127.0.0.1:${port}/metrics`).then(
      (response) => response.text(),
      () => 'refused',
    );
  const silent = startAgent({ directory, broker, certificate });
  await eventually(() => silent.output()).toContain('Inventory reported');
  expect(await scrape()).toBe('refused');
  await silent.stop();
  const settings = { CYBORG_AGENT_METRICS_PORT: String(port) };
  const agent = startAgent({ directory, broker, certificate, settings });
  try {
    await eventually(scrape).toContain('last_report_timestamp_seconds 1');
    const text = await scrape();
    expect(text).toContain('cyborg_agent_connected 1\n');
    expect(text).toMatch(
      /^cyborg_agent_devices\{type="FPGA",model="abcd:abcd",health="unknown"\} \d+$/m,
    );
    expect(text).toMatch(/# EOF\n$/);
  } finally {
    expect(await agent.stop()).toBe(0);
    await broker.stop();
  }
});
