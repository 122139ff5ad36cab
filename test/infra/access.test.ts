// Whether the roles fit: what the functions really ask of DynamoDB and SQS, noted while the system
// runs on one machine, against what the template allows. Here nothing enforces roles; in AWS they do.

import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { createQueues } from '#core/clients/queues.ts';
import type { createDeps } from '#core/deps.ts';
import type { ArqUuid, ProviderUuid } from '#core/domain/ids.ts';
import type { createDocuments } from '#core/store/documents.ts';
import { access, type FunctionName } from '#infra/access.ts';
import { eventually } from '#test/local/eventually.ts';
import { anArq } from '#test/support/builders.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { startWorld, type World } from '#test/support/world.ts';
import { synthesize } from './synthesized.ts';

/** `function action resource`, e.g. `sweep DeleteItem table/test-arqs`. */
const asked = vi.hoisted(() => ({ all: new Set<string>(), by: '' }));

// Which function a client belongs to is known while its dependencies are made.
vi.mock('#core/deps.ts', async (original) => {
  const deps = await original<{ createDeps: typeof createDeps }>();
  const createNotedDeps: typeof createDeps = (service, ...rest) => {
    asked.by = service;
    return deps.createDeps(service, ...rest);
  };
  return { ...deps, createDeps: createNotedDeps };
});

vi.mock('#core/clients/queues.ts', async (original) => {
  const queues = await original<{ createQueues: typeof createQueues }>();
  const createNotedQueues: typeof createQueues = (...given) => {
    const service = asked.by;
    const made = queues.createQueues(...given);
    return {
      send: async (queue, messages) => {
        if (messages.length > 0) asked.all.add(`${service} SendMessage test-${queue}`);
        await made.send(queue, messages);
      },
    };
  };
  return { ...queues, createQueues: createNotedQueues };
});

vi.mock('#core/store/documents.ts', async (original) => {
  const documents = await original<{ createDocuments: typeof createDocuments }>();
  const createNotedDocuments: typeof createDocuments = (config) => {
    const service = asked.by;
    const made = documents.createDocuments(config);
    for (const client of [made.documents, made.strong]) {
      client.middlewareStack.add(
        (next, { commandName }) =>
          async (args) => {
            const each = requestsOf(String(commandName), args.input as unknown as Input);
            for (const request of each) asked.all.add(`${service} ${request}`);
            return next(args);
          },
        { step: 'initialize', name: 'noteRequests', priority: 'high' },
      );
    }
    return made;
  };
  return { ...documents, createDocuments: createNotedDocuments };
});

interface Input {
  readonly TableName?: string;
  readonly IndexName?: string;
  readonly RequestItems?: object;
  readonly TransactItems?: readonly Readonly<Record<string, { readonly TableName: string }>>[];
}

/** What IAM is asked for a call: a transaction's parts, each by itself. */
function requestsOf(command: string, input: Input): string[] {
  const action = command.replace('Command', '');
  if (input.TransactItems) {
    return input.TransactItems.flatMap((item) =>
      Object.entries(item).map(([part, { TableName }]) => `${part}Item table/${TableName}`),
    );
  }
  const index = input.IndexName === undefined ? '' : `/index/${input.IndexName}`;
  const names = input.RequestItems
    ? Object.keys(input.RequestItems)
    : [`${input.TableName}${index}`];
  return names.map((name) => `${action} table/${name}`);
}

let world: World;
const host = 'cmp1';
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const group = { 'resources:FPGA': '2', 'trait:CUSTOM_FAKE_DEVICE': 'required' };

beforeAll(async () => {
  world = await startWorld({ consumers: true, settings: { CYBORG_EVENT_STYLE: 'spec' } });
});
afterAll(() => world.stop());

async function report(queue: 'inventory-reports' | 'host-presence', payload: object) {
  const envelope = {
    thing: host,
    topic: 'of the host',
    received_at: Date.now(),
    payload: Buffer.from(JSON.stringify(payload)).toString('base64'),
  };
  const { queueUrls } = world.deps.settings;
  await new SQSClient().send(
    new SendMessageCommand({ QueueUrl: queueUrls[queue], MessageBody: JSON.stringify(envelope) }),
  );
}

async function listed(collection: string): Promise<{ uuid: string }[]> {
  const { json } = await world.ask('GET', `/v2/${collection}`);
  return json[collection === 'accelerator_requests' ? 'arqs' : collection];
}

/** Each list in each order, from a marker on, and each row by itself. */
async function browse(collection: string) {
  const rows = await listed(collection);
  const uuid = rows[0]?.uuid;
  for (const query of ['sort_key=uuid', `limit=1&marker=${uuid}`]) {
    await world.ask('GET', `/v2/${collection}?${query}`);
  }
  expect(await world.ask('GET', `/v2/${collection}/${uuid}`)).toMatchObject({ status: 200 });
}

async function createArqs(profile: string): Promise<string[]> {
  const body = { device_profile_name: profile };
  const { json } = await world.asNova('POST', '/v2/accelerator_requests', body);
  return json.arqs.map(({ uuid }: { uuid: string }) => uuid);
}

/** A life in which every function does all that it can do. */
async function live() {
  const headers = { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name: host });
  await fetch(`${world.urls.nova}/hosts`, { method: 'POST', headers, body });
  await world.ask('GET', '/nothing/here');

  await report('host-presence', { clientId: host, timestamp: 1, eventType: 'connected' });
  await report('inventory-reports', aReport([aDevice({ handles: 4 })]));
  await eventually(() => listed('deployables')).toHaveLength(1);
  await browse('devices');
  await browse('deployables');

  const profiles = ['fpga-1', 'fpga-2', 'fpga-3'].map((name) => ({ name, groups: [group] }));
  for (const profile of profiles) {
    await world.ask('POST', '/v2/device_profiles', { body: [profile] });
  }
  await browse('device_profiles');
  await world.ask('GET', '/v2/device_profiles?name=fpga-1,fpga-2');
  await world.ask('DELETE', '/v2/device_profiles/fpga-2');
  await world.ask('DELETE', '/v2/device_profiles?name=fpga-3');

  const single = { name: 'one', groups: [{ ...group, 'resources:FPGA': '1' }] };
  await world.ask('POST', '/v2/device_profiles', { body: [single] });
  const [unbound] = await createArqs('one');
  const uuids = await createArqs('fpga-1');
  await browse('accelerator_requests');
  await world.asNova('GET', '/v2/accelerator_requests');
  const [provider] = (await listed('deployables')) as { rp_uuid?: string; uuid: string }[];
  const rp = provider?.rp_uuid ?? '';
  const patch = [
    { op: 'add', path: '/hostname', value: host },
    { op: 'add', path: '/device_rp_uuid', value: rp },
    { op: 'add', path: '/instance_uuid', value: instance },
  ];
  const bound = await world.asNova(
    'PATCH',
    '/v2/accelerator_requests',
    Object.fromEntries(uuids.map((uuid) => [uuid, patch])),
  );
  expect(bound.text).toBe('');
  await world.asNova('GET', `/v2/accelerator_requests?instance=${instance}`);
  const unbind = patch.map(({ path }) => ({ op: 'remove', path }));
  await world.asNova('PATCH', '/v2/accelerator_requests', { [uuids[0] ?? '']: unbind });
  await eventually(() => asked.all.has('nova-events BatchGetItem table/test-arqs')).toBe(true);
  await world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);
  await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${unbound},${uuids[0]}`);

  await world.deps.store.arqs.create(
    [anArq({ uuid: uuids[1] as ArqUuid })],
    '2020-01-01T00:00:00Z',
  );
  await world.consumers?.sweep();

  // Until Placement has the provider, the device would be forgotten before anybody knew it.
  const { placement } = world.deps.clients;
  await eventually(() => placement.getProvider(rp as ProviderUuid)).toBeDefined();
  await report('inventory-reports', aReport([aDevice({ handles: 1 })], { sequence: 2 }));
  await report('inventory-reports', aReport([], { sequence: 3 }));
  await eventually(() => listed('devices')).toHaveLength(0);
}

describe('the roles of the functions', () => {
  const stack = synthesize();
  const allowed = (name: FunctionName) =>
    stack.allowedTo(name).flatMap(({ actions, resources }) =>
      actions.flatMap((action) =>
        resources.map((resource) => ({
          action: action.replace(/^(dynamodb|sqs):/, ''),
          resource: resource.replace(/^arn:aws:[a-z]+:us-east-1:0{12}:/, ''),
        })),
      ),
    );
  const names = Object.keys(access) as FunctionName[];

  it('allow all that a function asks for, and nothing that it never asks for', async () => {
    await live();
    for (const name of names) {
      const needed = [...asked.all].filter((request) => request.startsWith(`${name} `)).sort();
      const granted = allowed(name)
        .filter(({ resource }) => resource.startsWith('table/') || isSending(name, resource))
        .filter(({ action }) => !['GetQueueAttributes', 'GetQueueUrl'].includes(action))
        .map(({ action, resource }) => `${name} ${action} ${resource}`);
      expect(granted.sort(), `infra/access.ts, ${name}`).toEqual(needed);
    }
  });

  function isSending(name: FunctionName, resource: string): boolean {
    return access[name].sendsTo?.some((queue) => resource === `test-${queue}`) ?? false;
  }
});
