// A host's identity, from the operator's command to the agent's connection and to its removal.

import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IoTClient } from '@aws-sdk/client-iot';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRegistry, type HostCertificate } from '#core/clients/aws/host-registry.ts';
import { agentSettings, modulesIn } from '#operate/enrol/agent-settings.ts';
import {
  keepCertificate,
  retireCertificates,
  revokeCertificates,
} from '#operate/enrol/end-certificates.ts';
import { EnrolmentRefused, enrolHost } from '#operate/enrol/enrol-host.ts';
import { amazonAuthorities, openHostFolder } from '#operate/enrol/host-folder.ts';
import { removeHosts } from '#operate/enrol/remove-hosts.ts';
import { type AgentProcess, run } from '#test/agent/agent-process.ts';
import { type IotCore, startIotCore } from '#test/support/aws/iot-core.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

const stage = 'test';
let iot: IotCore;
const agents: AgentProcess[] = [];

beforeAll(async () => {
  iot = await startIotCore(stage);
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.killHard()));
  await iot.stop();
});

function emptyFolder(): string {
  return mkdtempSync(join(iot.directory, 'host-'));
}

function enrol(
  hostname: string,
  path: string,
  { isRotation = false, client = iot.client() } = {},
): Promise<HostCertificate> {
  const settings = (broker: string) =>
    agentSettings(
      { stage, hostname, endpoint: `${broker}:${iot.broker.port}`, at: path },
      JSON.stringify({ drivers: ['fake'], state_dir: join(path, 'state'), interval_seconds: 1 }),
    );
  return enrolHost({
    registry: createRegistry(client, stage),
    stage,
    hostname,
    folder: openHostFolder(path),
    authorities: readFileSync(iot.certificates.server.authorityFile, 'utf8'),
    settings,
    isRotation,
  });
}

/** Starts the agent with nothing but the folder. */
function startAgent(path: string): AgentProcess {
  const agent = run('edge-agent/main.ts', { CYBORG_AGENT_CONFIG: join(path, 'agent.json') });
  agents.push(agent);
  return agent;
}

/** Certificates by which a host has connected, in order. */
function connectedWith(thing: string): (string | undefined)[] {
  return iot.presence
    .filter((event) => event.clientId === thing && event.eventType === 'connected')
    .map(({ principalIdentifier }) => principalIdentifier);
}

it('gives a host a folder with which its agent connects', async () => {
  const path = emptyFolder();
  const { id } = await enrol('cmp1.example', path);
  expect(statSync(join(path, 'key.pem')).mode & 0o777).toBe(0o600);
  const agent = startAgent(path);
  await eventually(() => agent.output()).toContain('Inventory reported');
  expect(connectedWith('test:cmp1:example')).toEqual([id]);
  await agent.stop();
});

it('does nothing more in a second run', async () => {
  const path = emptyFolder();
  const first = await enrol('cmp2.example', path);
  const files = ['key.pem', 'certificate.pem', 'agent.json'].map((name) => join(path, name));
  const before = files.map((file) => readFileSync(file, 'utf8'));
  expect((await enrol('cmp2.example', path)).id).toBe(first.id);
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before);
  expect(iot.registry.certificatesOf('test:cmp2:example')).toHaveLength(1);
});

function died(): never {
  throw new Error('killed');
}

/** Fails at the n-th request: before it is sent, or after it was answered. */
function dyingClient(at: number, when: 'before' | 'after', issued: string[]): IoTClient {
  const client = iot.client();
  let count = 0;
  client.middlewareStack.add(
    (next) => async (args) => {
      count += 1;
      if (count === at && when === 'before') died();
      try {
        const answer = await next(args);
        const { certificateId } = answer.output as { certificateId?: string };
        if (certificateId !== undefined) issued.push(certificateId);
        return answer;
      } finally {
        // Any answer counts, also that the thing does not exist yet.
        if (count === at) died();
      }
    },
    { step: 'initialize', name: 'die' },
  );
  return client;
}

it('is completed by the next run after a failure at any request, and leaves one active certificate', async () => {
  let deaths = 0;
  for (const when of ['before', 'after'] as const) {
    for (let at = 1; ; at += 1) {
      const hostname = `dies-${when}-${at}`;
      const path = emptyFolder();
      const issued: string[] = [];
      const client = dyingClient(at, when, issued);
      const isDead = await enrol(hostname, path, { client }).then(
        () => false,
        (error: Error) => error.message === 'killed',
      );
      if (!isDead) break;
      deaths += 1;
      const { id } = await enrol(hostname, path, { client: dyingClient(0, 'before', issued) });
      const active = [...new Set([...issued, id])].filter(
        (each) => iot.registry.certificate(each).status === 'ACTIVE',
      );
      expect(active).toEqual([id]);
      expect(iot.registry.certificate(id)).toMatchObject({
        thing: `test:${hostname}`,
        policy: 'test-compute-node',
      });
      expect(readFileSync(join(path, 'certificate.pem'), 'utf8')).toBe(
        iot.registry.certificate(id).pem,
      );
    }
  }
  // Principals, thing, its creation, its mark, certificate, two attachments, endpoint, activation.
  expect(deaths).toBe(18);
});

it('refuses a second certificate unless the request is a rotation', async () => {
  const path = emptyFolder();
  const { id } = await enrol('cmp3.example', path);
  const other = emptyFolder();
  await expect(enrol('cmp3.example', other)).rejects.toThrow(`has certificate ${id} already`);
  await expect(enrol('cmp3.example', path, { isRotation: true })).rejects.toThrow('in use');
  expect(iot.registry.certificatesOf('test:cmp3:example')).toHaveLength(1);
  await expect(enrol('cmp4.example', other, { isRotation: true })).rejects.toThrow(
    'no certificate yet',
  );
  expect(existsSync(join(other, 'certificate.pem'))).toBe(false);
});

it('keeps the old certificate until the host has connected with the new one', async () => {
  const thing = 'test:cmp5:example';
  const registry = createRegistry(iot.client(), stage);
  const path = emptyFolder();
  const old = await enrol('cmp5.example', path);
  const agent = startAgent(path);
  await eventually(() => connectedWith(thing)).toEqual([old.id]);

  const next = emptyFolder();
  const renewed = await enrol('cmp5.example', next, { isRotation: true });
  expect(renewed.id).not.toBe(old.id);
  await expect(retireCertificates(registry, thing, connectedWith(thing).at(-1))).rejects.toThrow(
    `has not connected with its newest certificate, ${renewed.id}`,
  );
  expect(iot.registry.certificatesOf(thing)).toHaveLength(2);

  // The operator copies the new files, and the agent starts again.
  await agent.stop();
  const restarted = startAgent(next);
  await eventually(() => connectedWith(thing)).toEqual([old.id, renewed.id]);
  const gone = await retireCertificates(registry, thing, connectedWith(thing).at(-1));
  expect(gone.map(({ id }) => id)).toEqual([old.id]);
  expect(iot.registry.certificatesOf(thing).map(({ id }) => id)).toEqual([renewed.id]);
  await restarted.stop();

  const late = startAgent(path);
  await eventually(() => late.output()).toMatch(/connection (failed|was closed)/i);
  expect(connectedWith(thing)).toEqual([old.id, renewed.id]);
  await late.stop();
});

it('revokes all certificates of a lost host, ends its connection, and never accepts its keys again', async () => {
  const thing = 'test:cmp6:example';
  const registry = createRegistry(iot.client(), stage);
  const path = emptyFolder();
  const { id } = await enrol('cmp6.example', path);
  const agent = startAgent(path);
  await eventually(() => connectedWith(thing)).toEqual([id]);
  await revokeCertificates(registry, thing);
  const ended = () => iot.presence.filter((event) => event.clientId === thing);
  await eventually(() => ended().at(-1)?.eventType).toBe('disconnected');
  expect(iot.registry.certificate(id).status).toBe('REVOKED');
  expect(iot.registry.findThing(thing)).toBeDefined();
  await agent.stop();
  expect(connectedWith(thing)).toEqual([id]);

  await expect(enrol('cmp6.example', path)).rejects.toThrow('of this key is revoked');
  const again = await enrol('cmp6.example', emptyFolder());
  expect(iot.registry.certificate(again.id).status).toBe('ACTIVE');
  expect(await revokeCertificates(registry, thing)).toMatchObject([{ id: again.id }]);
  expect(await revokeCertificates(registry, thing)).toEqual([]);
  // A mistyped name revokes nothing.
  const mistyped = revokeCertificates(registry, 'test:cmp66:example');
  await expect(mistyped).rejects.toThrow('No host cmp66.example is enrolled');
});

it('removes hosts for good, unless one of them is connected', async () => {
  const registry = createRegistry(iot.client(), stage);
  const things = ['test:cmp8:example', 'test:cmp9:example'] as const;
  const first = await enrol('cmp8.example', emptyFolder());
  const second = await enrol('cmp9.example', emptyFolder());
  const removed: string[] = [];
  const remove = (connected?: string) =>
    removeHosts(
      registry,
      things,
      async (hostname) => hostname === connected,
      (hostname, certificates) => removed.push(hostname, ...certificates.map(({ id }) => id)),
    );
  await expect(remove('cmp9.example')).rejects.toThrow(
    'Nothing was removed, since agents are connected: cmp9',
  );
  expect(things.map((thing) => iot.registry.certificatesOf(thing)[0]?.status)).toEqual([
    'ACTIVE',
    'ACTIVE',
  ]);
  // A revoked host cannot be connected, whatever was last known of it.
  await revokeCertificates(registry, things[1]);
  await remove('cmp9.example');
  expect(removed).toEqual(['cmp8.example', first.id, 'cmp9.example', second.id]);
  for (const thing of things) expect(iot.registry.findThing(thing)).toBeUndefined();
  for (const { id } of [first, second]) {
    expect(() => iot.registry.certificate(id)).toThrow('not found');
  }
  await remove();
});

it('is completed by the next run after a removal failed at any request', async () => {
  const thing = 'test:ending:example';
  for (let at = 1; ; at += 1) {
    await enrol('ending.example', emptyFolder());
    const remove = (client: IoTClient) =>
      removeHosts(
        createRegistry(client, stage),
        [thing],
        async () => false,
        () => {},
      );
    const isDead = await remove(dyingClient(at, 'after', [])).then(
      () => false,
      (error: Error) => error.message === 'killed',
    );
    await remove(iot.client());
    expect(iot.registry.findThing(thing)).toBeUndefined();
    if (isDead) continue;
    // Principals twice, each certificate; its end, policy, thing, deletion; the thing's.
    expect(at).toBe(10);
    break;
  }
});

it("waits until AWS knows that a thing's certificates are gone", async () => {
  const client = iot.client();
  const pauses: number[] = [];
  let refusals = 2;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== 'DeleteThingCommand' || refusals-- <= 0) return next(args);
        const message = 'Cannot delete. Thing is still attached to one or more principals';
        throw Object.assign(new Error(message), { name: 'InvalidRequestException' });
      },
    { step: 'initialize', name: 'lag' },
  );
  const pause = async (ms: number) => void pauses.push(ms);
  const registry = createRegistry(client, stage, pause);
  await registry.ensureThing('test:late');
  await registry.removeThing('test:late');
  expect(pauses).toHaveLength(2);
  expect(iot.registry.findThing('test:late')).toBeUndefined();
  refusals = Number.POSITIVE_INFINITY;
  await expect(registry.removeThing('test:late')).rejects.toThrow('still attached');
});

it("keeps the named certificate, if it is one of the host's", async () => {
  const thing = 'test:cmp7:example';
  const registry = createRegistry(iot.client(), stage);
  const first = await enrol('cmp7.example', emptyFolder());
  const second = await enrol('cmp7.example', emptyFolder(), { isRotation: true });
  await expect(keepCertificate(registry, thing, 'f'.repeat(64))).rejects.toThrow(EnrolmentRefused);
  await keepCertificate(registry, thing, first.id);
  expect(iot.registry.certificatesOf(thing).map(({ id }) => id)).toEqual([first.id]);
  expect(() => iot.registry.certificate(second.id)).toThrow('not found');
});

it('refuses settings with which the agent would not start', () => {
  const host = { stage, hostname: 'cmp1', endpoint: 'x:443', at: '/etc/cyborg-agent' };
  expect(() => agentSettings(host, '{}')).toThrow('CYBORG_AGENT_DRIVERS is missing.');
  expect(() => agentSettings(host, '{"drivers":["pci"]}')).toThrow(
    'CYBORG_AGENT_PCI (at allow_list)',
  );
  expect(() => agentSettings(host, '[]')).toThrow('one JSON object');
  expect(() => agentSettings(host, '{"drivers":["fake"],"attach_types":["mdev"]}')).toThrow(
    'CYBORG_AGENT_ATTACH_TYPES: unknown type "mdev"; valid are PCI, MDEV, TEST_PCI.',
  );
  const written = agentSettings(host, '{"drivers":["fake"],"attach_types":["MDEV"]}');
  expect(JSON.parse(written)).toMatchObject({ attach_types: ['MDEV'] });
});

it("checks settings of an operator's driver with the driver's own form", async () => {
  const host = { stage, hostname: 'cmp1', endpoint: 'x:443', at: '/etc/cyborg-agent' };
  const settings = '{"drivers":["npu"],"npu":{"cards":0}}';
  expect(() => agentSettings(host, settings)).toThrow(
    "and the operator's drivers in the folder that --drivers-dir names.",
  );
  const folder = emptyFolder();
  await expect(modulesIn(join(folder, 'none'))).rejects.toThrow(EnrolmentRefused);
  const module = `export default ({ defineDriver, z }) => defineDriver({
    name: 'npu', settings: z.strictObject({ cards: z.number().min(1) }), create: () => ({}) });`;
  writeFileSync(join(folder, 'npu.mjs'), module, { mode: 0o600 });
  const modules = await modulesIn(folder);
  expect(() => agentSettings({ ...host, modules }, settings)).toThrow('CYBORG_AGENT_NPU (at cards');
  expect(agentSettings({ ...host, modules }, settings.replace('0', '2'))).toContain('"npu"');
});

it("has Amazon's authorities", () => {
  expect(amazonAuthorities().match(/BEGIN CERTIFICATE/g)).toHaveLength(5);
});

it('refuses an unknown host with exit code 1', async () => {
  const environment = {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_IOT: iot.url,
  };
  const refused = run('operate/cyborg-ops.ts', environment, [
    'enrol',
    'remove',
    'nohost',
    '--stage',
    stage,
  ]);
  expect(await refused.exited()).toBe(1);
  expect(refused.output()).toContain('No host nohost is enrolled');
  expect(await createRegistry(iot.client(), stage).things()).toContain('test:cmp1:example');
});
