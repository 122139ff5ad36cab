// `npm run test:prometheus`: Debian's Prometheus reads the metrics of the local system, through
// `cyborg-ops metrics`, and promtool checks the metrics, the alerts and the dashboard's queries.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { createAgentMetrics } from '#agent/report/agent-metrics.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { password, region } from '#local/openstack/keystone/catalog.ts';
import { freePort } from '#local/ports.ts';
import { aDevice } from '#test/support/reports.ts';
import { skip } from '#test/support/suites/cannot-run.ts';
import { ensurePackages } from '#test/support/suites/debian.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { ScenarioSuite } from '#test/support/suites/scenario-suite.ts';
import { startWorld, type World } from '#test/support/world.ts';

const root = join(import.meta.dirname, '../..');
const examples = join(root, 'examples/prometheus');
const prometheus = '/usr/bin/prometheus';
const promtool = '/usr/bin/promtool';
/** A device's vendor is its host's word. */
const hostile = 'a"} 1\ncyborg_hosts{state="away"} 99\\';
const suite = new ScenarioSuite();

async function main(): Promise<void> {
  try {
    if (!existsSync(prometheus) || !existsSync(promtool)) ensurePackages(['prometheus']);
  } catch (error) {
    skip('the suite test:prometheus', error);
    return;
  }
  await scenario('promtool accepts the alerts, and each raises what its test says', async () => {
    check(['check', 'rules', 'cyborg-alerts.yml']);
    check(['test', 'rules', 'cyborg-alerts.test.yml']);
    check(['check', 'config', 'prometheus.yml']);
  });
  const world = await startWorld({
    consumers: true,
    settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' },
  });
  suite.closeAtEnd(world.stop);
  await furnish(world);
  suite.step('The local system has two hosts and a server');
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-prometheus-'));
  suite.closeAtEnd(async () => rmSync(directory, { recursive: true, force: true }));

  await scenario('promtool check metrics finds nothing', async () => {
    const { text } = await scraped(world, 'text/plain');
    check(['check', 'metrics'], text);
    check(['check', 'metrics'], agentText());
    assert.match(text, /^cyborg_handles\{.*state="claimed"\} 1$/m);
  });

  const targets = {
    cyborg: await exporter(world, 'admin', 'admin'),
    tenant: await exporter(world, 'demo', 'demo'),
    open: await openMetricsServer(world),
  };
  const query = await startPrometheus(directory, targets);
  await scenario('Prometheus reads what the API answers, by cyborg-ops', async () => {
    await eventually(() => query('up{job="cyborg"}'), isOne);
    for (const job of ['cyborg', 'open']) {
      const online = `cyborg_hosts{job="${job}",state="online"}`;
      await eventually(
        () => query(online),
        ([each]) => each?.value[1] === '2',
      );
      assert.deepEqual(await values(query, `cyborg_handles{job="${job}",state="claimed"}`), ['1']);
      assert.deepEqual(await values(query, `cyborg_hosts{job="${job}",state="away"}`), ['0']);
      assert.deepEqual(await values(query, `cyborg_binds_total{job="${job}",outcome="failed"}`), [
        '0',
      ]);
      const models = await query(`cyborg_devices{job="${job}"}`);
      assert.ok(models.some(({ metric }) => metric.model?.startsWith(hostile.toLowerCase())));
    }
  });
  await scenario('a scrape as a tenant reads nothing', async () => {
    await eventually(
      () => query('up{job="tenant"}'),
      ([each]) => each?.value[1] === '0',
    );
    assert.deepEqual(await values(query, '{job="tenant",__name__=~"cyborg.*"}'), []);
  });
  await scenario(
    'each query of the dashboard and the alerts names metrics that exist',
    async () => {
      const names = new Set(z.array(z.string()).parse(await query.names()));
      for (const expression of expressions()) {
        await query(expression);
        for (const [name] of expression.matchAll(/cyborg_\w+/g)) assert.ok(names.has(name), name);
      }
    },
  );
}

function isOne([each]: Series): boolean {
  return each?.value[1] === '1';
}

async function scenario(name: string, play: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  let note = '';
  try {
    await play();
  } catch (error) {
    note = (error as Error).stack ?? String(error);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  suite.report({ name, seconds, hasPassed: note === '', note });
}

/** @throws Error with what promtool says, also where it only warns */
function check(words: readonly string[], input?: string): void {
  const { status, stdout, stderr } = spawnSync(promtool, words, {
    cwd: examples,
    encoding: 'utf8',
    ...(input !== undefined && { input }),
  });
  assert.equal(status, 0, `promtool ${words.join(' ')}: ${stdout}${stderr}`);
  if (input !== undefined) assert.equal(stdout + stderr, '');
}

async function furnish(world: World): Promise<void> {
  await world.report('cmp1', [aDevice({ handles: 2 })]);
  await world.report('cmp2', [aDevice({ vendor: hostile, handles: 1 })]);
  await world.createProfile('one', { 'resources:FPGA': '1' });
  const instance = crypto.randomUUID();
  await world.createBound('one', { provider: providerUuid('cmp1_FakeDevice'), instance });
  await world.consumers?.sweep();
}

/** What an agent with a device reports of itself. */
function agentText(): string {
  const metrics = createAgentMetrics({
    drivers: ['fake'],
    skew: () => ({ aheadMs: 1, withinMs: 1 }),
    readings: () => new Map([['0000:01:00.0', { celsius: 40, uncorrectable: 0 }]]),
    clock: { wallMs: Date.now },
  });
  const devices = [{ device: aDevice({ vendor: hostile }), digest: '' }];
  metrics.discovered({ devices, failedDrivers: [], notOffered: [], novaVersions: [] });
  return metrics.text('text/plain').text;
}

async function scraped(world: World, accept: string) {
  const response = await fetch(`${world.apiUrl}/operator/v1/metrics`, {
    headers: { 'X-Auth-Token': 'admin-token', Accept: accept },
  });
  const type = response.headers.get('content-type') ?? '';
  return { type, text: await response.text() };
}

/** `cyborg-ops metrics --listen`, signed in as the user. @returns its address */
async function exporter(world: World, user: string, project: string): Promise<string> {
  const child = start(
    process.execPath,
    ['operate/cyborg-ops.ts', 'metrics', '--listen', '127.0.0.1:0'],
    {
      PATH: process.env.PATH,
      OS_AUTH_URL: world.urls.keystone,
      OS_USERNAME: user,
      OS_PASSWORD: password,
      OS_PROJECT_NAME: project,
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_NAME: 'Default',
      OS_REGION_NAME: region,
    },
  );
  const ended = once(child, 'exit');
  let said = '';
  const listening = new Promise<string>((resolve) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const address = /http:\/\/(\S+)\/metrics/.exec(said)?.[1];
      if (address) resolve(address);
    });
  });
  const address = await Promise.race([listening, ended]);
  if (typeof address === 'string') return address;
  throw new Error(`cyborg-ops metrics ended: ${said}`);
}

/** Passes the API's answer on as it is: this Prometheus cannot send a token of Keystone. */
async function openMetricsServer(world: World): Promise<string> {
  const server = createServer(async (request, response) => {
    const { type, text } = await scraped(world, request.headers.accept ?? '');
    assert.match(type, /openmetrics/);
    response.writeHead(200, { 'Content-Type': type }).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  suite.closeAtEnd(async () => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const series = z.array(
  z.object({
    metric: z.record(z.string(), z.string()),
    value: z.tuple([z.number(), z.string()]),
  }),
);
type Series = z.infer<typeof series>;

interface Query {
  (expression: string): Promise<Series>;
  /** Names of all metrics that it has. */
  readonly names: () => Promise<unknown>;
}

async function startPrometheus(
  directory: string,
  targets: Readonly<Record<string, string>>,
): Promise<Query> {
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: Object.entries(targets).map(([job_name, target]) => ({
      job_name,
      static_configs: [{ targets: [target] }],
    })),
    rule_files: [join(examples, 'cyborg-alerts.yml')],
  };
  const file = join(directory, 'prometheus.yml');
  // YAML has JSON in it.
  writeFileSync(file, JSON.stringify(config));
  const port = await freePort({ host: '127.0.0.1', port: 0 });
  const address = `127.0.0.1:${port}`;
  const storage = `--storage.tsdb.path=${join(directory, 'data')}`;
  start(prometheus, [`--config.file=${file}`, storage, `--web.listen-address=${address}`], {});
  const ask = async (path: string) => {
    const response = await fetch(`http://${address}${path}`);
    const { status, data, error } = z
      .object({ status: z.string(), data: z.unknown(), error: z.string().optional() })
      .parse(await response.json());
    assert.equal(status, 'success', `${path}: ${error}`);
    return data;
  };
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(isReady, (is) => is);
  const query = async (expression: string) => {
    const data = await ask(`/api/v1/query?${new URLSearchParams({ query: expression })}`);
    return z.object({ result: series }).parse(data).result;
  };
  return Object.assign(query, { names: () => ask('/api/v1/label/__name__/values') });
}

async function values(query: Query, expression: string): Promise<string[]> {
  return (await query(expression)).map(({ value: [, value] }) => value);
}

/** The expressions of the dashboard, with its variable, and of the alerts. */
function expressions(): string[] {
  const panels = z.object({
    panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })) })),
  });
  const dashboard = readFileSync(join(examples, 'grafana-dashboard.json'), 'utf8');
  const { panels: shown } = panels.parse(JSON.parse(dashboard));
  const rules = z.object({
    groups: z.array(z.object({ rules: z.array(z.object({ expr: z.string() })) })),
  });
  const alerts = rules.parse(parse(readFileSync(join(examples, 'cyborg-alerts.yml'), 'utf8')));
  return [
    ...shown.flatMap(({ targets }) => targets),
    ...alerts.groups.flatMap((group) => group.rules),
  ].map(({ expr }) => expr.replaceAll('$resource_class', '.*'));
}

function start(program: string, words: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(program, words, { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
  if (program === prometheus) child.stderr?.resume();
  suite.closeAtEnd(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
  });
  return child;
}

await suite.run(main);
