// The doctor finds nothing in a healthy system, and names each fault.
//
// @module-tag long

import { writeFileSync } from 'node:fs';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { IoTClient } from '@aws-sdk/client-iot';
import { S3Client } from '@aws-sdk/client-s3';
import {
  DeleteQueueCommand,
  GetQueueUrlCommand,
  PurgeQueueCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { createHttp } from '#core/clients/http.ts';
import type { Finding } from '#core/command-line/checks.ts';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import { backupStore } from '#core/store/backups/backups.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { createTables } from '#local/aws/dynamodb/dynamodb.ts';
import { createQueues } from '#local/aws/queues.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import type { HttpEngine } from '#local/ports.ts';
import { chooseLayout, type Layout, settingsOf, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import type { CheckContext } from '#operate/doctor/check.ts';
import { examine } from '#operate/doctor/examine.ts';
import { revokeCertificates } from '#operate/enrol/end-certificates.ts';
import { run } from '#test/agent/agent-process.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const stage = 'doctor';
const minuteMs = 60_000;
const directory = directoryPerFile();
let layout: Layout;
let system: System;
const servers: HttpEngine[] = [];

beforeAll(async () => {
  layout = await chooseLayout({ stage, directory, anyPorts: true });
  system = await startSystem({
    layout,
    agents: [{ hostname: 'cmp1', drivers: 'fake' }],
    restart: false,
  });
  process.env.POWERTOOLS_LOG_LEVEL = 'SILENT';
  await announceHost(layout, 'cmp1');
  await eventually(async () => named('host cmp1', await findings())).toBe('ok');
});

afterAll(async () => {
  for (const server of servers) await server.stop();
  await system.stop();
});

interface Given {
  readonly settings?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly iot?: string;
  readonly laterMs?: number;
}

async function findings({ settings = {}, url, iot, laterMs = 0 }: Given = {}): Promise<Finding[]> {
  const deps = createConsumerDeps('doctor', { ...process.env, ...settings });
  const aws: CheckContext['aws'] = {
    dynamoDb: new DynamoDBClient(),
    sqs: new SQSClient(),
    iot: new IoTClient(iot ? { endpoint: iot } : {}),
    s3: new S3Client({ forcePathStyle: true }),
  };
  const patient: CheckContext = {
    deps: { ...deps, clock: () => Date.now() + laterMs },
    http: createHttp({ timeoutMs: 2000 }),
    aws,
    url,
  };
  const found: Finding[] = [];
  for await (const finding of examine(patient)) found.push(finding);
  for (const client of Object.values(aws)) client.destroy();
  return found;
}

/** The fault that the doctor found, with its remedy; or that all is well. */
function named(check: string, found: readonly Finding[]): string {
  const finding = found.find((each) => each.check === check);
  if (!finding) return 'no such check';
  if ('wrong' in finding) return `${finding.wrong} → ${finding.remedy}`;
  return 'ok' in finding ? 'ok' : finding.unseen;
}

function wrong(found: readonly Finding[]): string[] {
  return found.filter((finding) => 'wrong' in finding).map(({ check }) => check);
}

/** A proxy before the local AWS IoT that changes the answers to some paths. */
async function iotProxy(change: (path: string, body: string) => [number, string]): Promise<string> {
  const forward = (incoming: IncomingMessage, response: ServerResponse) => {
    const { method, url = '', headers } = incoming;
    const onward = request(`${urlOf(layout, 'iot')}${url}`, { method, headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => {
        const [status, body] = change(url, text);
        const isSame = body === text;
        const error = { 'x-amzn-errortype': 'ResourceNotFoundException' };
        response.writeHead(
          isSame ? (answer.statusCode ?? 500) : status,
          status === 404 && !isSame ? error : {},
        );
        response.end(body);
      });
    });
    incoming.pipe(onward);
  };
  const server = await serveHttp(forward);
  servers.push(server);
  return server.url;
}

describe('a healthy system', () => {
  it('passes every check', async () => {
    const found = await findings({ url: `${urlOf(layout, 'api')}/accelerator/v2` });
    expect(found.filter((finding) => 'wrong' in finding)).toEqual([]);
    expect(found.filter((finding) => 'ok' in finding).length).toBeGreaterThan(25);
    // These checks read AWS alone, or nothing.
    expect(found.flatMap((each) => ('unseen' in each ? [each.check] : []))).toEqual(
      expect.arrayContaining(['Nova sends service tokens', 'queue rules-dead']),
    );
  });

  it('makes the command exit with 0', async () => {
    const file = join(directory, 'environment.json');
    writeFileSync(file, JSON.stringify(settingsOf(layout)));
    const doctor = run('operate/cyborg-ops.ts', {}, ['doctor']);
    expect(await doctor.exited()).toBe(2);
    const told = spawnDoctor(file);
    expect(await told.exited()).toBe(0);
    expect(told.output()).toMatch(/ok {5}table arqs: doctor-arqs/);
    expect(told.output()).toMatch(/\d+ ok, 0 wrong, \d+ undetermined/);
  });
});

function spawnDoctor(file: string, ...more: string[]) {
  return run('operate/cyborg-ops.ts', {}, ['doctor', '--environment', file, ...more]);
}

describe('the doctor names the fault', () => {
  it('a wrong password', async () => {
    const found = await findings({ settings: { CYBORG_OS_PASSWORD: 'wrong' } });
    expect(named('Keystone accepts the service user', found)).toMatch(/401.*password in Secrets/);
  });

  it('missing roles of the service user', async () => {
    const found = await findings({ settings: { CYBORG_OS_USERNAME: 'telemetry' } });
    expect(named('Keystone accepts the service user', found)).toMatch(
      /lacks admin.*roles admin and/,
    );
  });

  it.each([
    ['Placement answers at 1.36', 'PLACEMENT_URL'],
    ['Nova answers at 2.82', 'NOVA_URL'],
    ['Glance answers', 'GLANCE_URL'],
  ])('%s: not at all', async (check, variable) => {
    const found = await findings({ settings: { [variable]: 'http://127.0.0.1:1' } });
    expect(named(check, found)).toMatch(/is unavailable.*catalog/);
    expect(wrong(found)).toContain(check);
  });

  it('a Nova that is too old', async () => {
    const server = await serveHttp((_request, response) => {
      response.writeHead(406, { 'content-type': 'application/json' });
      response.end('{"computeFault":{"code":406,"message":"Version 2.82 is not supported"}}');
    });
    servers.push(server);
    const settings = { NOVA_URL: server.url };
    expect(named('Nova answers at 2.82', await findings({ settings }))).toMatch(
      /406.*Victoria or later/,
    );
  });

  it('a catalog that names another endpoint', async () => {
    const found = await findings({ url: 'https://abc.execute-api.example.org/accelerator/v2' });
    expect(named('the catalog has the accelerator service', found)).toMatch(
      /and the stack is at https:\/\/abc/,
    );
    expect(wrong(found)).toContain('the API answers');
  });

  it('an endpoint of the catalog without /v2', async () => {
    const root = urlOf(layout, 'api');
    const server = await serveHttp((_request, response) => {
      const url = `${root}/accelerator`;
      const endpoints = [{ interface: 'internal', region: 'RegionOne', url }];
      const token = {
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        catalog: [{ type: 'accelerator', endpoints }],
      };
      response.writeHead(201, { 'content-type': 'application/json', 'X-Subject-Token': 'own' });
      response.end(JSON.stringify({ token }));
    });
    servers.push(server);
    const found = await findings({ settings: { KEYSTONE_URL: server.url } });
    expect(named('the catalog has the accelerator service', found)).toContain(
      `The endpoint ${root}/accelerator of the catalog must end in /v2, because Nova appends its paths to it: give ${root}/accelerator/v2.`,
    );
    expect(named("the catalog's endpoint answers Nova's call", found)).toContain(
      `GET ${root}/accelerator/accelerator_requests?instance=`,
    );
  });

  it("another Keystone than the one in the API's refusals", async () => {
    const settings = { KEYSTONE_PUBLIC_URL: 'https://keystone.example.org/v3' };
    expect(
      named('the API answers 401 without a token and names Keystone', await findings({ settings })),
    ).toMatch(/not Keystone uri="https:\/\/keystone.example.org/);
  });

  it('messages in a dead-letter queue', async () => {
    const sqs = new SQSClient();
    const { QueueUrl } = await sqs.send(
      new GetQueueUrlCommand({ QueueName: `${stage}-nova-events-dead` }),
    );
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{}' }));
    expect(named('queue nova-events', await findings())).toMatch(
      /nova-events-dead holds 1.*docs\/operations.md/,
    );
    await sqs.send(new PurgeQueueCommand({ QueueUrl }));
    expect(named('queue nova-events', await findings())).toBe('ok');
  });

  it('a missing queue', async () => {
    const sqs = new SQSClient();
    const { QueueUrl } = await sqs.send(
      new GetQueueUrlCommand({ QueueName: `${stage}-job-events` }),
    );
    await sqs.send(new DeleteQueueCommand({ QueueUrl }));
    expect(named('queue job-events', await findings())).toMatch(/does not exist.*Deploy/);
    await createQueues(sqs, stage);
    expect(named('queue job-events', await findings())).toBe('ok');
  });

  it('a missing table', async () => {
    const dynamoDb = new DynamoDBClient();
    await dynamoDb.send(new DeleteTableCommand({ TableName: `${stage}-service-tokens` }));
    expect(named('table service-tokens', await findings())).toMatch(
      /NotFound.*operations\/restore.md/,
    );
    await createTables(dynamoDb, stage);
    expect(named('table service-tokens', await findings())).toBe('ok');
  });

  it('missing parts of AWS IoT', async () => {
    const iot = await iotProxy((path, body) => {
      if (path.startsWith('/thing-types/')) return [404, '{"message":"gone"}'];
      if (path.startsWith('/policies/')) return [404, '{"message":"gone"}'];
      if (path.startsWith('/rules/'))
        return [200, body.replace('"ruleDisabled":false', '"ruleDisabled":true')];
      if (path === '/event-configurations') return [200, body.replace('true', 'false')];
      return [200, body];
    });
    const found = await findings({ iot });
    expect(named('thing type of hosts', found)).toMatch(/NotFound.*Deploy the stack again/);
    expect(named('policy of hosts', found)).toMatch(/NotFound.*Deploy the stack again/);
    expect(named('rule job_ended', found)).toMatch(/doctor_job_ended is disabled.*Enable it/);
    expect(named('AWS IoT publishes job execution events', found)).toMatch(
      /update-event-configurations/,
    );
    expect(wrong(found)).toHaveLength(9);
  });

  it('a restored host', async () => {
    const backups = backupStore(createDocuments().documents);
    const inventory = `${stage}-inventory`;
    const rows = [...(await backups.rows(inventory)).values()];
    const handle = rows.find(
      ({ pk, sk }) =>
        pk === `RP#${providerUuid('cmp1_FakeDevice')}` && String(sk).startsWith('HANDLE#'),
    );
    if (!handle) throw new Error('The handle is missing.');
    await backups.put(inventory, { ...handle, restored_at: '2026-07-01T01:02:03.000Z' });
    expect(named('host cmp1', await findings())).toMatch(
      /1 handles are restored from a backup, and withheld until.*reconcile cmp1/,
    );
    await backups.put(inventory, handle);
  });

  it('a device that Nova offers, too', async () => {
    const { store, clients } = createConsumerDeps('doctor');
    const { devices } = await store.inventory.host('cmp1');
    const node = await clients.placement.findProviderByName('cmp1');
    const name = `cmp1_${devices[0]?.address.toUpperCase()}`;
    const uuid = '00000000-0000-4000-8000-00000000aaaa';
    await clients.placement.createProvider({ uuid, name, parentUuid: node?.uuid ?? '' });
    expect(named('host cmp1', await findings())).toMatch(
      new RegExp(`offers these devices, too: ${devices[0]?.address} by .*${name} .*→ .*\\[pci\\]`),
    );
    await clients.placement.deleteProvider(uuid);
    expect(named('host cmp1', await findings())).toBe('ok');
  });

  it('a device of another stack on the same Placement', async () => {
    const { store, clients } = createConsumerDeps('doctor');
    const [device] = (await store.inventory.host('cmp1')).devices;
    const provider = device?.providers[0] ?? '';
    const mark = 'CUSTOM_CYBORG_STACK_BLUE';
    const held = await clients.placement.getTraits(provider);
    await clients.placement.ensureTrait(mark);
    const generation = await clients.placement.putTraits(provider, held?.generation ?? 0, [mark]);
    expect(named('host cmp1', await findings())).toMatch(
      new RegExp(`Another stack has these devices in Placement.*: ${device?.address} by ${mark}`),
    );
    await clients.placement.putTraits(provider, generation, held?.traits ?? []);
    expect(named('host cmp1', await findings())).toBe('ok');
  });

  it('a device that the hypervisor cannot attach', async () => {
    const found = await findings({ settings: { CYBORG_ATTACH_TYPES: 'PCI' } });
    const said = found.find(({ check }) => check === 'host cmp1');
    const words = '(fake) attaches as TEST_PCI, which the hypervisor does not take';
    expect(said).toMatchObject({ ok: expect.stringContaining(words) });
  });

  it('a host that fails its jobs', async () => {
    const { inventory } = createConsumerDeps('doctor').store;
    const { host } = await inventory.host('cmp1');
    const failed = { count: 3, lastAt: '2026-07-01T01:02:03.000Z', reason: 'ENOSPC' };
    await inventory.noteFailure(host, failed);
    expect(named('host cmp1', await findings())).toMatch(/last 3 jobs failed.*ENOSPC.*journalctl/);
    await inventory.forgetFailures('cmp1');
    expect(named('host cmp1', await findings())).toBe('ok');
  });

  it('a host with two agents, until an operator says which one is the host', async () => {
    const { inventory } = createConsumerDeps('doctor').store;
    const bootId = (await inventory.hostAlone('cmp1')).bootId ?? '';
    const other = '00000000-0000-4000-8000-000000000001';
    const since = new Date().toISOString();
    // The test acts as the consumer of reports; a report of the agent may come in between.
    await eventually(() => inventory.takeLease('cmp1', 'test', since, since)).toBe(true);
    const boots = [bootId, other].map((each) => ({ bootId: each, sequence: 1, lastAt: since }));
    await inventory.putConflict(await inventory.hostAlone('cmp1'), { since, boots }, 'test');
    expect(named('host cmp1', await findings())).toMatch(
      new RegExp(`Two agents report.*${bootId}.*${other}.*settle cmp1 --boot`),
    );
    const silent = boots.map((each) => ({ ...each, lastAt: '2026-07-01T01:02:03.000Z' }));
    await inventory.putSighting('cmp1', { since, boots: silent });
    await endConflict(createConsumerDeps('doctor'), 'cmp1', bootId);
  });

  it('an API that is down', async () => {
    await system.kill('api');
    const found = await findings();
    expect(named('the API answers', found)).toMatch(/unavailable.*access log/);
    await system.start('api');
    expect(wrong(await findings())).toEqual([]);
  });

  it('a certificate that ends within 30 days', async () => {
    const dayMs = 24 * 60 * minuteMs;
    expect(named('host cmp1', await findings({ laterMs: 368 * dayMs }))).toMatch(
      /certificate ends at 20.+enrol rotate cmp1 .+rotate_after_days/,
    );
    expect(named('host cmp1', await findings({ laterMs: 360 * dayMs }))).not.toMatch('ends at');
  });

  // This test is the last: the host does not come back.
  it('a host whose agent is gone, and a host without a certificate', async () => {
    await system.kill('agent-cmp1');
    await eventually(async () =>
      named('host cmp1', await findings({ laterMs: 11 * minuteMs })),
    ).toMatch(/agent is not connected.*systemctl/);
    await revokeCertificates(createRegistry(new IoTClient(), stage), `${stage}:cmp1`);
    expect(named('host cmp1', await findings())).toMatch(/no active certificate.*enrol/);
  });
});
