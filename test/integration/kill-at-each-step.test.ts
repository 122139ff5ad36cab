// The system as its processes. The test kills each process at each named step of a bind and of a
// release and starts it again, and Nova repeats the requests that got no answer. Nothing may be
// lost or claimed twice. Waits end when the system makes no more calls, however slow the machine
// is; a failed test leaves neither a claim nor a dead process to the next.

import { SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { queueName, queues } from '#core/contracts/queues/queues.ts';
import { createStore } from '#core/deps.ts';
import { type ProviderUuid, providerUuid } from '#core/domain/ids.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import type { HttpEngine } from '#local/ports.ts';
import { environmentFor } from '#local/process/environment.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { type Call, startFaultProxy } from '#test/support/aws/proxies/fault-proxy.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { askPatiently } from '#test/support/vitest/patient-requests.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const stage = 'kill';
const hostname = 'cmp1';

/** A kind of device; the calls of a bind and of a release are in the order of their first. */
interface Kind {
  readonly title: string;
  readonly profile: string;
  readonly group: Readonly<Record<string, string>>;
  readonly provider: ProviderUuid;
  readonly handleType: string;
  /** Processes that work on it; the others die at one side of a step only. */
  readonly onThePath: readonly string[];
  readonly bindSteps: readonly string[];
  readonly releaseSteps: readonly string[];
}

/** A plain PCI device: bound and released within the request, and Nova waits for nothing. */
const plain: Kind = {
  title: 'of a PCI device',
  profile: 'fpga',
  group: { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' },
  provider: providerUuid(`${hostname}_FakeDevice`),
  handleType: 'TEST_PCI',
  onThePath: ['api', 'consumers', 'dynamodb'],
  bindSteps: ['DynamoDB BatchGetItem', 'DynamoDB Query', 'DynamoDB TransactWriteItems'],
  releaseSteps: ['DynamoDB GetItem', 'DynamoDB BatchGetItem', 'DynamoDB TransactWriteItems'],
};

/** A vGPU: made and removed by its host, and Nova is told by an event. */
const vgpu: Kind = {
  title: 'of a vGPU',
  profile: 'vgpu',
  group: { 'resources:VGPU': '1', 'trait:CUSTOM_ABCD_9B01_FAKE_1': 'required' },
  provider: providerUuid(`${hostname}_0000:0e:00.0_fake-1`),
  handleType: 'MDEV',
  onThePath: ['api', 'consumers', 'dynamodb', 'queues', 'broker', `agent-${hostname}`],
  bindSteps: [
    'DynamoDB TransactWriteItems',
    'SQS SendMessageBatch',
    'SQS DeleteMessageBatch',
    'Nova POST',
  ],
  releaseSteps: ['DynamoDB TransactWriteItems', 'SQS SendMessageBatch', 'SQS DeleteMessageBatch'],
};

const processes = vgpu.onThePath;

/**
 * Seconds until a message comes again whose delivery died with the queue, instead of the deployed
 * two minutes.
 */
const visibilitySeconds = 1;

const directory = directoryPerFile();
let layout: Layout;
let system: System;
let proxies: HttpEngine[] = [];
let armed: { readonly call: Call; readonly act: () => Promise<void> } | undefined;
let store: ReturnType<typeof createStore>;
let restarted: Promise<void> = Promise.resolve();
let instances = 0;

/** Calls that the system repeats while it has nothing to do. */
const idleCalls = ['SQS ReceiveMessage', 'DynamoDB GetRecords', 'DynamoDB GetItem'];

function onCall(call: Call): Promise<void> | void {
  if (!idleCalls.includes(call.name)) noteProgress();
  if (armed?.call.name !== call.name || armed.call.phase !== call.phase) return;
  const { act } = armed;
  armed = undefined;
  return act();
}

/** Kills the process at its next such call, and starts it again at once. */
function killAt(name: string, call: Call): () => boolean {
  let happened = false;
  armed = {
    call,
    act: async () => {
      const killed = system.kill(name);
      // Known before the test sees that the call has happened: it waits for the start.
      restarted = killed.then(() => system.start(name)).finally(noteProgress);
      // A failed start shows in the test itself; the next test starts the process once more.
      restarted.catch(() => {});
      happened = true;
      await killed;
    },
  };
  return () => happened;
}

beforeAll(async () => {
  layout = await chooseLayout({ stage, directory, anyPorts: true });
  const [dynamoDb, sqs, nova] = await Promise.all([
    startFaultProxy('DynamoDB', urlOf(layout, 'dynamodb'), onCall),
    startFaultProxy('SQS', urlOf(layout, 'sqs'), onCall),
    startFaultProxy('Nova', urlOf(layout, 'nova'), onCall),
  ]);
  proxies = [dynamoDb, sqs, nova];
  const keystone = `${urlOf(layout, 'keystone')}/v3`;
  system = await startSystem({
    layout,
    agents: [{ hostname, drivers: 'fake,fake-gpu' }],
    restart: false,
    variables: {
      ...environmentFor(stage, { dynamoDb: dynamoDb.url, sqs: sqs.url, keystone }),
      NOVA_URL: `${nova.url}/v2.1`,
    },
  });
  await announceHost(layout, hostname);
  store = createStore(createDocuments(), stage);
  const client = new SQSClient();
  for (const { name } of queues.filter((row) => 'isLeased' in row)) {
    await client.send(
      new SetQueueAttributesCommand({
        QueueUrl: `${urlOf(layout, 'sqs')}/000000000000/${queueName(stage, name)}`,
        Attributes: { VisibilityTimeout: String(visibilitySeconds) },
      }),
    );
  }
  await waitFor('the 20 handles of the host', handles, (found) => found.length === 20);
  for (const { profile, group } of [plain, vgpu]) {
    await ask('POST', '/device_profiles', [{ name: profile, groups: [group] }]);
  }
});

afterAll(async () => {
  await system?.stop();
  for (const proxy of proxies) await proxy.stop();
});

async function handles() {
  const found = await Promise.all(
    [plain, vgpu].map(({ provider }) => store.store.inventory.provider(provider)),
  );
  return found.flatMap((each) => each?.handles ?? []);
}

/** Handles that a server has, or that are not clean again. */
async function taken() {
  return (await handles()).filter(({ claim, release }) => claim || release);
}

const ask = (method: string, path: string, body?: unknown) =>
  askPatiently(layout, method, path, body);

async function createArq({ profile }: Kind): Promise<string> {
  const { json } = await ask('POST', '/accelerator_requests', { device_profile_name: profile });
  return json.arqs[0].uuid;
}

/** Name of the running test. */
let instance = '';

/** Whether Nova gets an event of the bind. */
let isAwaited = false;

function nextInstance(): string {
  instances += 1;
  return `aaaaaaaa-0000-4000-8000-${String(instances).padStart(12, '0')}`;
}

async function bind(arq: string, kind: Kind): Promise<void> {
  const { status, json } = await ask('PATCH', '/accelerator_requests', {
    [arq]: bindPatch({ hostname, device_rp_uuid: kind.provider, instance_uuid: instance }),
  });
  expect([status, json]).toEqual([202, undefined]);
  // Not as Nova, for whom the list would wait: so Nova gets an event, unless the bind has ended.
  const path = `/accelerator_requests?instance=${instance}`;
  const listed = await askPatiently(layout, 'GET', path, undefined, {});
  isAwaited = listed.json.arqs[0].state === 'BindStarted';
}

async function release(): Promise<void> {
  const { status } = await ask('DELETE', `/accelerator_requests?instance=${instance}`);
  expect(status).toBe(204);
}

async function expectBound(arq: string, { handleType }: Kind): Promise<void> {
  const listed = async () =>
    (await ask('GET', `/accelerator_requests?instance=${instance}`)).json.arqs;
  // It is unknown until an agent that was killed is connected again.
  const isBound = (arqs: Awaited<ReturnType<typeof listed>>) => arqs[0]?.state === 'Bound';
  const arqs = await waitFor('a bound ARQ', listed, isBound);
  expect(arqs).toMatchObject([{ uuid: arq, attach_handle_type: handleType }]);
  expect((await taken()).map((handle) => handle.claim?.arqUuid)).toEqual([arq]);
}

/** Until the bind is over for Nova, too. */
async function untilNovaKnows(arq: string): Promise<void> {
  if (!isAwaited) return;
  await waitFor('an event of the ARQ at Nova', toldNova, (tags) => tags.includes(arq));
}

async function toldNova(): Promise<string[]> {
  const response = await fetch(`${urlOf(layout, 'nova')}/v2.1/_events`, {
    headers: { 'X-Auth-Token': 'admin-token' },
  });
  const { events } = (await response.json()) as { events: { tag: string }[] };
  return events.map(({ tag }) => tag);
}

async function expectReleased(arq: string, kind: Kind): Promise<void> {
  if (kind === plain) expect(await taken()).toEqual([]);
  await untilAllAreFree();
  expect(await store.store.arqs.binding(instance)).toBeUndefined();
  expect((await ask('GET', `/accelerator_requests/${arq}`)).status).toBe(404);
}

async function untilAllAreFree(): Promise<void> {
  await waitFor(
    'all handles to be free',
    async () => (await taken()).map(({ uuid }) => uuid),
    (uuids) => uuids.length === 0,
  );
}

beforeEach(() => {
  instance = nextInstance();
});

// Also after a failed test, so that it fails no other test.
afterEach(async () => {
  armed = undefined;
  await restarted.catch(() => {});
  // Running processes stay as they are.
  for (const name of system.processes) await system.start(name);
  await release();
  await untilAllAreFree();
});

interface Kill {
  readonly kind: Kind;
  readonly name: string;
  readonly action: 'bind' | 'release';
  readonly phase: Call['phase'];
  readonly step: string;
}

const kills = [plain, vgpu].flatMap((kind) => processes.flatMap((name) => killsOf(kind, name)));

function killsOf(kind: Kind, name: string): Kill[] {
  const isOnThePath = kind.onThePath.includes(name);
  const phases = isOnThePath ? (['before', 'after'] as const) : (['before'] as const);
  const steps = { bind: kind.bindSteps, release: kind.releaseSteps };
  return (['bind', 'release'] as const).flatMap((action) =>
    steps[action].flatMap((step) => phases.map((phase) => ({ kind, name, action, phase, step }))),
  );
}

async function killInBind({ kind, name, phase, step }: Kill): Promise<void> {
  const arq = await createArq(kind);
  const hasHappened = killAt(name, { name: step, phase });
  await bind(arq, kind);
  await untilNovaKnows(arq);
  await waitFor(`the call ${step}`, async () => hasHappened(), Boolean);
  await restarted;
  await expectBound(arq, kind);
  await release();
  await expectReleased(arq, kind);
}

async function killInRelease({ kind, name, phase, step }: Kill): Promise<void> {
  const arq = await createArq(kind);
  await bind(arq, kind);
  await untilNovaKnows(arq);
  const hasHappened = killAt(name, { name: step, phase });
  await release();
  await waitFor(`the call ${step}`, async () => hasHappened(), Boolean);
  await restarted;
  await expectReleased(arq, kind);
}

const title = '$name killed in a $action $kind.title, $phase $step';
const play = (kill: Kill) => (kill.action === 'bind' ? killInBind(kill) : killInRelease(kill));
const { sample, rest } = sampleOf(kills, 6);
const others = sampleOf(rest, 12);

describe('a sample, six kills', () => {
  it.each(sample)(title, play);
});

describe('12 other kills', { tags: ['long'] }, () => {
  it.each(others.sample)(title, play);
});

describe('all other kills', { tags: ['long', 'whole'] }, () => {
  it.each(others.rest)(title, play);
});
