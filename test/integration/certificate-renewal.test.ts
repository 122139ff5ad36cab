// A host renews its certificate: the agent as a process, the broker with real certificates, the
// queues and the deployed consumer.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { createRuleEngine } from '#local/aws/iot-rules.ts';
import { enrolHost } from '#operate/enrol/enrol-host.ts';
import { openHostFolder } from '#operate/enrol/host-folder.ts';
import { type AgentProcess, startAgent } from '#test/agent/agent-process.ts';
import { type IotCore, startIotCore } from '#test/support/aws/iot-core.ts';
import { iotAt } from '#test/support/http-server.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { startWorld, type World } from '#test/support/world.ts';

const thing = 'test:cmp1:example';
let iot: IotCore;
let world: World;
let deliver: ((topic: string, payload: Buffer) => Promise<void>) | undefined;
let agent: AgentProcess | undefined;

beforeAll(async () => {
  iot = await startIotCore('test', async (topic, payload) => deliver?.(topic, payload));
  world = await startWorld({ consumers: true, settings: iotAt({ url: iot.url }) });
  const { queueUrls } = world.deps.settings;
  ({ deliver } = createRuleEngine({ stage: 'test', sqs: new SQSClient(), queueUrls }));
});
afterAll(async () => {
  await agent?.killHard();
  await world.stop();
  await iot.stop();
});

it('renews an old certificate, removes it, and starts again with the new one', async () => {
  const folder = join(iot.directory, 'host');
  const registry = createRegistry(iot.client(), 'test');
  const old = await enrolHost({
    registry,
    stage: 'test',
    hostname: 'cmp1.example',
    folder: openHostFolder(folder),
    authorities: readFileSync(iot.certificates.server.authorityFile, 'utf8'),
    isRotation: false,
  });
  const certificate = {
    certificateFile: join(folder, 'certificate.pem'),
    keyFile: join(folder, 'key.pem'),
    authorityFile: join(folder, 'authorities.pem'),
  };
  const start = (settings: Readonly<Record<string, string>>) =>
    startAgent({ directory: folder, broker: iot.broker, certificate, settings });
  const connections = () =>
    iot.presence
      .filter(({ eventType }) => eventType === 'connected')
      .map(({ principalIdentifier }) => principalIdentifier);

  // The local authority's certificates begin a day ago.
  agent = start({ CYBORG_AGENT_ROTATE_AFTER_DAYS: '1' });
  await eventually(() => agent?.output()).toContain('Certificate renewed');
  await eventually(() => iot.registry.certificatesOf(thing).length).toBe(1);
  const [renewed] = iot.registry.certificatesOf(thing);
  expect(renewed).toMatchObject({ status: 'ACTIVE', policy: 'test-compute-node' });
  expect(connections()).toEqual([old.id, renewed?.id]);
  // It is detached before it is deleted.
  await eventually(() => isKept(old.id)).toBe(false);
  expect(statSync(join(folder, 'state', 'identity.json')).mode & 0o777).toBe(0o600);
  expect(readFileSync(certificate.certificateFile, 'utf8')).toBe(old.pem);
  expect(await agent.stop()).toBe(0);

  // Without the setting, too, the renewed identity is the host's.
  agent = start({});
  await eventually(() => agent?.output()).toContain('Inventory reported');
  expect(connections()).toEqual([old.id, renewed?.id, renewed?.id]);
  expect(existsSync(join(folder, 'state', 'identity.json.new'))).toBe(false);
  await agent.stop();
});

function isKept(id: string): boolean {
  try {
    return iot.registry.certificate(id).id === id;
  } catch {
    return false;
  }
}
