// Each function's bundle in a process of its own, as Lambda runs it: the Runtime API hands it
// events as AWS documents them, and it has the variables of its deployment only.
//
// @module-tag long

import type { IncomingMessage, ServerResponse } from 'node:http';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type QueueName, queues, streamConsumers } from '#core/contracts/queues/queues.ts';
import { deadQueueUrlVariable, newVersionsVariable } from '#core/settings.ts';
import { routes } from '#functions/routes.ts';
import { access, type FunctionName, shifted } from '#infra/access.ts';
import * as aws from '#test/support/aws/lambda/documented-events.ts';
import { makeBundle, type Runtime, startRuntime } from '#test/support/aws/lambda/lambda-runtime.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';
import { startWorld, type World } from '#test/support/world.ts';

const names = Object.keys(access) as FunctionName[];
const resources = [...new Set(routes.map(({ resource }) => resource))];
const directory = directoryPerFile();
const runtimes = new Map<FunctionName, Runtime>();
let world: World;
let releases: Awaited<ReturnType<typeof serveHttp>>;

beforeAll(async () => {
  world = await startWorld();
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^(AWS|CYBORG|KEYSTONE|POWER|.*_URL$)/.test(name),
    ),
  );
  releases = await serveHttp(playReleases);
  Object.assign(env, {
    AWS_ENDPOINT_URL_LAMBDA: releases.url,
    AWS_ENDPOINT_URL_CODEDEPLOY: releases.url,
    [newVersionsVariable]: shifted.map((name) => `test-${name}:7`).join(','),
  });
  for (const name of names) {
    const isOfApi = (resources as string[]).includes(name);
    const entry = isOfApi ? `functions/${name}/handler.ts` : `functions/consumers/${name}.ts`;
    const bundle = await makeBundle(name, entry, directory);
    const own = access[name].callsOpenStack ? env : { ...env, CYBORG_OS_PASSWORD: '' };
    runtimes.set(name, await startRuntime(name, bundle, own));
  }
});

afterAll(async () => {
  await Promise.all([...runtimes.values()].map((runtime) => runtime.stop()));
  await releases.stop();
  await world.stop();
});

async function invoke(name: FunctionName, event: unknown) {
  return (await runtimes.get(name)?.invoke(event)) as Record<string, unknown> | null;
}

interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}
type Call = Parameters<typeof aws.httpApiEvent>[0];

async function ask(name: FunctionName, call: Call): Promise<HttpAnswer> {
  const headers = { 'x-auth-token': 'admin-token', ...call.headers };
  return (await invoke(name, aws.httpApiEvent({ ...call, headers }))) as unknown as HttpAnswer;
}

async function deadIn(name: Parameters<typeof deadQueueUrlVariable>[0]): Promise<number> {
  const sqs = new SQSClient();
  const asked = new GetQueueAttributesCommand({
    QueueUrl: process.env[deadQueueUrlVariable(name)],
    AttributeNames: ['ApproximateNumberOfMessages'],
  });
  const { Attributes } = await sqs.send(asked);
  sqs.destroy();
  return Number(Attributes?.ApproximateNumberOfMessages);
}

describe('an event of the HTTP API', () => {
  const collections: [FunctionName, string, number][] = [
    ['versions', '/', 200],
    ['device-profiles', '/accelerator/v2/device_profiles', 200],
    ['accelerator-requests', '/accelerator/v2/accelerator_requests', 200],
    ['devices', '/accelerator/v2/devices', 200],
    ['deployables', '/accelerator/v2/deployables', 200],
    ['attributes', '/accelerator/v2/attributes', 200],
    ['operator', '/accelerator/operator/v1/hosts', 200],
    // The stack puts the console's files beside the bundle; here there are none.
    ['console', '/console/page.js', 404],
  ];

  it.each(collections)('of %s, with cookies and stage variables, is answered', async (...row) => {
    const [name, path, status] = row;
    const { statusCode, headers, body } = await ask(name, { method: 'GET', path });
    expect([statusCode, body]).toEqual([status, expect.stringContaining('{')]);
    expect(headers['x-openstack-request-id']).toMatch(/^req-/);
  });

  it('has every resource', () => {
    expect(collections.map(([name]) => name).sort()).toEqual([...resources].sort());
  });

  it('with a trailing slash is answered like one without', async () => {
    const path = '/accelerator/v2/device_profiles/';
    expect((await ask('device-profiles', { method: 'GET', path })).statusCode).toBe(200);
  });

  it('with a body in base64 is understood', async () => {
    const profile = [{ name: 'encoded', groups: [{ 'resources:FPGA': '1' }] }];
    const { statusCode, body } = await ask('device-profiles', {
      method: 'POST',
      path: '/accelerator/v2/device_profiles',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: Buffer.from(JSON.stringify(profile)).toString('base64'),
      isBase64Encoded: true,
    });
    expect([statusCode, JSON.parse(body ?? '')]).toMatchObject([201, { name: 'encoded' }]);
  });

  it('with a repeated parameter, which the gateway joins, is refused by its name', async () => {
    const { statusCode, body } = await ask('devices', {
      method: 'GET',
      path: '/accelerator/v2/devices',
      rawQueryString: 'limit=1&limit=2',
    });
    expect([statusCode, body]).toEqual([400, expect.stringContaining('limit')]);
  });

  it('with two service tokens, which the gateway joins, is refused', async () => {
    const { statusCode } = await ask('accelerator-requests', {
      method: 'GET',
      path: '/accelerator/v2/accelerator_requests',
      headers: { 'x-service-token': 'nova-token,nova-token' },
    });
    expect(statusCode).toBe(401);
  });

  it('of the default route is answered without the password', async () => {
    const path = '/accelerator/v2/nowhere';
    expect((await ask('versions', { method: 'GET', path })).statusCode).toBe(404);
    const headers = { 'x-auth-token': '' };
    expect((await ask('versions', { method: 'GET', path, headers })).statusCode).toBe(401);
  });
});

describe('a batch of messages', () => {
  const nothing = '00000000-0000-4000-8000-000000000000';
  const thing = 'test:cmp1';
  const report = { boot_id: nothing, sequence: 1, devices: [] };
  const bodies: Readonly<Record<QueueName, string>> = {
    'nova-events': JSON.stringify({ instance_uuid: nothing, bind_id: nothing }),
    'provider-syncs': JSON.stringify({ provider_uuid: nothing }),
    'host-jobs': JSON.stringify({ kind: 'release', release_id: nothing }),
    'host-presence': aws.presenceBody(thing, 'connected'),
    'late-events': JSON.stringify({
      type: 'Handle quarantined',
      at: 1,
      detail: {
        version: 1,
        id: nothing,
        stage: 'test',
        reason: 'a test',
        handle_uuid: nothing,
        provider_uuid: nothing,
      },
    }),
    'job-events': aws.jobEventBody(thing, `test-release-${nothing}`),
    'inventory-reports': JSON.stringify({
      thing: 'test:cmp2',
      topic: 'any',
      received_at: Date.now(),
      payload: Buffer.from(JSON.stringify(report)).toString('base64'),
    }),
  };

  it.each(queues)('of $name is done, and what is unreadable is dead-lettered', async ({ name }) => {
    const before = await deadIn(name);
    const event = aws.queueEvent(`test-${name}`, [bodies[name], 'not JSON']);
    expect(await invoke(name, event)).toEqual({ batchItemFailures: [] });
    // A report that is empty breaks the contract, and goes the same way.
    const isReport = name === 'inventory-reports';
    expect(await deadIn(name)).toBe(before + (isReport ? 2 : 1));
  });

  it('of presence events leaves the host as the last of them says', async () => {
    const event = aws.queueEvent('test-host-presence', [
      aws.presenceBody(thing, 'disconnected'),
      aws.presenceBody(thing, 'connected'),
    ]);
    expect(await invoke('host-presence', event)).toMatchObject({ batchItemFailures: [] });
    const { presence } = await world.deps.store.inventory.hostAlone('cmp1');
    expect(presence).toMatchObject({ isConnected: false, at: '2019-11-06T01:05:40.451Z' });
  });
});

describe('a batch of changes', () => {
  const keys = { pk: { S: 'ARQ#1' } };
  const note = marshall({ pk: 'DELETED#1', names: ['p'], at: '2026-01-01T00:00:00.000Z', by: 'u' });

  it.each(streamConsumers)(
    'is read by %s, with rows whose time to live has ended',
    async (name) => {
      const before = await deadIn(name);
      const event = aws.streamEvent([
        { table: 'test-device-profiles', keys, before: note, isExpired: true },
        { table: 'test-inventory', keys, before: marshall({ pk: 'RESTORED', sk: 'RESTORED' }) },
        // A row that was edited by hand.
        { table: 'test-arqs', keys, after: marshall({ pk: 'INSTANCE#1' }) },
      ]);
      expect(await invoke(name, event)).toEqual({ batchItemFailures: [] });
      expect(await deadIn(name)).toBe(before + 1);
    },
  );
});

describe('an event of the scheduler', () => {
  it('is a sweep', async () => {
    expect(await invoke('sweep', aws.scheduledEvent)).toBeNull();
  });
});

/** The release of the test: functions that do not work, what was called, and how it ended. */
const release = { broken: new Map<string, object>(), called: [] as string[], ends: [] as string[] };

/** Lambda, which runs the bundles here, and CodeDeploy. */
async function playReleases(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const part of request) body += part;
  const [, name, version] =
    /functions\/test-([\w-]+)\/invocations\?Qualifier=(\d+)$/.exec(request.url ?? '') ?? [];
  if (name === undefined) {
    release.ends.push(JSON.parse(body).status);
    response.end('{}');
    return;
  }
  release.called.push(`${name}:${version}`);
  const answer = release.broken.get(name) ?? (await invoke(name as FunctionName, JSON.parse(body)));
  response.end(JSON.stringify(answer));
}

describe('a release, before its first request', () => {
  const hook = { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' };

  beforeEach(() => {
    release.broken.clear();
    release.called.length = 0;
    release.ends.length = 0;
  });

  it('is accepted if each new version answers', async () => {
    await invoke('release-check', hook);
    expect(release.called.sort()).toEqual([...shifted].map((name) => `${name}:7`).sort());
    expect(release.ends).toEqual(['Succeeded']);
  });

  const faults: readonly [string, FunctionName, object][] = [
    ['cannot start', 'changes', { errorType: 'Runtime.ImportModuleError', errorMessage: 'no x' }],
    ['cannot sign in', 'device-profiles', { statusCode: 503, body: 'Keystone refuses us' }],
  ];

  it.each(faults)('is refused if one version %s, after five tries', async (_, name, answer) => {
    release.broken.set(name, answer);
    await invoke('release-check', hook);
    expect(release.called.filter((each) => each === `${name}:7`)).toHaveLength(5);
    expect(release.called).toHaveLength(shifted.length + 4);
    expect(release.ends).toEqual(['Failed']);
  });
});
