// A whole control plane for one test file: a real DynamoDB engine, the fake SQS, the OpenStack
// fakes and the deployed handlers behind HTTP, all on free ports, and removed at the end.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import type { InventoryReport, ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { queueUrlVariable } from '#core/settings.ts';
import { createTables } from '#local/aws/dynamodb/dynamodb.ts';
import { type DeliveredEvent, type EventsOptions, startEvents } from '#local/aws/events.ts';
import { createQueues } from '#local/aws/queues.ts';
import { startApi } from '#local/lambda/api.ts';
import { type Consumers, startConsumers } from '#local/lambda/consumers.ts';
import { startGlance } from '#local/openstack/glance.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { startNova } from '#local/openstack/nova/nova.ts';
import { startPlacement } from '#local/openstack/placement/placement.ts';
import type { Running } from '#local/ports.ts';
import { environmentFor } from '#local/process/environment.ts';
import type { ApiBody } from '#simulation/api-body.ts';
import { stage, startEngines } from './aws/engines.ts';
import { bindPatch } from './bind-patch.ts';
import { aReport } from './reports.ts';

export { stage } from './aws/engines.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed; undefined for an answer without a body. */
  readonly json: ApiBody;
}

export interface Ask {
  /** An admin's token by default; null sends none. */
  readonly token?: string | null;
  readonly serviceToken?: string;
  readonly microversion?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Group = Readonly<Record<string, string>>;

/** A profile has at least one ARQ. */
export type Uuids = [ArqUuid, ...ArqUuid[]];

interface Target {
  readonly provider: string;
  readonly instance: string;
  /** cmp1 by default. */
  readonly host?: string;
}

/** The metrics are the one answer that is not JSON. */
function isText(headers: Headers): boolean {
  return headers.get('content-type')?.includes('text') ?? false;
}

export interface World {
  readonly deps: ConsumerDeps;
  readonly apiUrl: string;
  readonly urls: {
    readonly keystone: string;
    readonly placement: string;
    readonly nova: string;
    readonly glance: string;
  };
  ask(method: string, path: string, ask?: Ask): Promise<Answer>;
  /** Sends a user's token and Nova's service token, as Nova does. */
  asNova(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Creates a device profile with these groups. */
  createProfile(name: string, ...groups: readonly Group[]): Promise<Answer>;
  /** Creates the ARQs of a device profile, as Nova does for a user. */
  createArqs(profile: string, token?: string): Promise<Uuids>;
  /** Binds ARQs, as Nova does for a user: one, or all of an instance. */
  bindArqs(arqs: string | readonly string[], target: Target, token?: string): Promise<Answer>;
  /** Creates the ARQs of a device profile and binds them. @throws if the bind is refused */
  createBound(profile: string, target: Target, token?: string): Promise<Uuids>;
  /** Lists the ARQs of an instance, as nova-compute does. */
  arqsOf(instance: string): Promise<Answer>;
  /** Deletes the ARQs of an instance, as Nova does. */
  deleteArqsOf(instance: string): Promise<Answer>;
  /** Applies the next report of a host, which describes these devices, at the time of `by`. */
  report(
    hostname: string,
    devices: readonly ReportedDevice[],
    given?: Partial<InventoryReport>,
    by?: ConsumerDeps,
  ): Promise<void>;
  /** Creates the compute node's provider, as nova-compute does when it starts. */
  startComputeNode(name: string): Promise<void>;
  readonly consumers: Consumers | undefined;
  /** The events that EventBridge got. */
  readonly announced: readonly DeliveredEvent[];
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Whether streams and queues are consumed, or the streams alone. */
  readonly consumers?: boolean | 'streams';
  /** Returns EventBridge's code for an event that it refuses. */
  readonly eventsFail?: EventsOptions['fails'];
  /** Settings in addition to the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
}

const arqsPath = '/v2/accelerator_requests';
const loopback = { host: '127.0.0.1', port: 0 };

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { eventsFail } = options;
  const announced: DeliveredEvent[] = [];
  const onEvent = (event: DeliveredEvent) => void announced.push(event);
  const [engines, events, keystone] = await Promise.all([
    startEngines(),
    startEvents({ ...loopback, onEvent, ...(eventsFail && { fails: eventsFail }) }),
    startKeystone(loopback),
  ]);
  const placement = await startPlacement({ ...loopback, keystoneUrl: keystone.url });
  keystone.announce('placement', placement.url);
  const environment = environmentFor(stage, {
    ...engines,
    events: events.url,
    keystone: keystone.url,
  });
  // A test that looks at a bind in progress must not wait for its end.
  const quick = { CYBORG_RESOLVE_WAIT_SECONDS: '0' };
  const silent = { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' };
  Object.assign(process.env, environment, engines.variables, quick, silent, options.settings);
  await createTables(new DynamoDBClient(), stage);
  // Another endpoint has its own URLs of queues.
  for (const [name, url] of Object.entries(await createQueues(new SQSClient(), stage))) {
    process.env[queueUrlVariable(name as QueueName)] = url;
  }
  const api = await startApi(loopback);
  keystone.announce('accelerator', `${api.url}/accelerator/v2`);
  const nova = await startNova({ ...loopback, keystoneUrl: keystone.url });
  keystone.announce('compute', nova.url);
  const glance = await startGlance({ ...loopback, keystoneUrl: keystone.url });
  keystone.announce('image', glance.url);
  const isQueued = options.consumers !== 'streams';
  const consumers = options.consumers
    ? await startConsumers({ log: silentLog, ...(!isQueued && { taken: [] }) })
    : undefined;

  const ask = async (method: string, path: string, given: Ask = {}): Promise<Answer> => {
    const token = given.token === undefined ? 'admin-token' : given.token;
    const response = await fetch(`${api.url}${path}`, {
      method,
      headers: {
        ...(token !== null && { 'X-Auth-Token': token }),
        ...(given.serviceToken && { 'X-Service-Token': given.serviceToken }),
        ...(given.microversion && { 'OpenStack-API-Version': given.microversion }),
        ...(given.body !== undefined && { 'Content-Type': 'application/json' }),
        ...given.headers,
      },
      ...(given.body !== undefined && {
        body: typeof given.body === 'string' ? given.body : JSON.stringify(given.body),
      }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' || isText(response.headers) ? undefined : JSON.parse(text),
    };
  };
  const askNova = (method: string, body: unknown, token = 'demo-token') =>
    ask(method, arqsPath, { token, serviceToken: 'nova-token', body });
  const createArqs: World['createArqs'] = async (profile, token) => {
    const { status, text, json } = await askNova('POST', { device_profile_name: profile }, token);
    if (status !== 201) throw new Error(`The API answered ${status}: ${text}`);
    return json.arqs.map(({ uuid }) => uuid) as Uuids;
  };
  const bindArqs: World['bindArqs'] = (arqs, { provider, instance, host = 'cmp1' }, token) => {
    const target = { hostname: host, device_rp_uuid: provider, instance_uuid: instance };
    const patch = bindPatch(target);
    return askNova('PATCH', Object.fromEntries([arqs].flat().map((arq) => [arq, patch])), token);
  };
  const asNova: World['asNova'] = (method, path, body) =>
    ask(method, path, { token: 'demo-token', serviceToken: 'nova-token', body });
  const deps = { ...createConsumerDeps('test'), log: silentLog, metrics: noMetrics };
  let sequence = 0;
  const all: Running[] = [glance, nova, api, placement, keystone, events, engines];
  return {
    deps,
    apiUrl: api.url,
    urls: { keystone: keystone.url, placement: placement.url, nova: nova.url, glance: glance.url },
    ask,
    asNova,
    arqsOf: (instance) =>
      ask('GET', `${arqsPath}?instance=${instance}`, {
        token: 'demo-token',
        serviceToken: 'nova-token',
        headers: { 'User-Agent': 'nova-compute keystoneauth1/5.0.0' },
      }),
    deleteArqsOf: (instance) => asNova('DELETE', `${arqsPath}?instance=${instance}`),
    report: async (hostname, devices, given, by = deps) => {
      sequence += 1;
      await applyReport(by, hostname, aReport(devices, { sequence, ...given }), by.clock());
    },
    createProfile: (name, ...groups) =>
      ask('POST', '/v2/device_profiles', { body: [{ name, groups }] }),
    createArqs,
    bindArqs,
    createBound: async (profile, target, token) => {
      const arqs = await createArqs(profile, token);
      const { status, text } = await bindArqs(arqs, target, token);
      if (status !== 202 || text !== '') throw new Error(`The API answered ${status}: ${text}`);
      return arqs;
    },
    startComputeNode: async (name) => {
      const { ok, status } = await fetch(`${nova.url}/hosts`, {
        method: 'POST',
        headers: { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json' },
        body: JSON.stringify({ name }),
      });
      if (!ok) throw new Error(`The fake Nova answered ${status}.`);
    },
    consumers,
    announced,
    stop: async () => {
      await consumers?.stop();
      for (const each of all) await each.stop();
    },
  };
}
