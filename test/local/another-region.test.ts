// The region is lost for good: a second local system, with other ports and empty tables, takes
// its place, with rows of an older copy. Hosts, their servers and OpenStack go on as they are.
// The operator's part is what docs/another-region.md prints, block by block.
//
// @module-tag long

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { backupStore } from '#core/store/backups/backups.ts';
import type { Row } from '#core/store/rows/rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import { tableInput } from '#local/aws/dynamodb/dynamodb.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import { password, region } from '#local/openstack/keystone/catalog.ts';
import {
  chooseLayout,
  environmentOf,
  type Layout,
  settingsOf,
  urlOf,
} from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { namedBlocks } from '#test/support/doc-examples.ts';
import {
  type Cloud,
  type CloudHost,
  createCloud,
  createHost,
  type Enrolling,
  handlesOf,
  operate,
  type PlacedHandle,
} from './cloud-hosts.ts';

const root = join(import.meta.dirname, '../..');
const blocks = namedBlocks('another-region.md');
const stage = 'prod';
/** Suffix of the tables that a copy is imported to, as in the document. */
const suffix = 'copy';
const copied = ['arqs', 'inventory', 'device-profiles'] as const;

const environmentBefore = { ...process.env };
let directory: string;
/** The lost region; OpenStack's fakes are in it, and stay. */
let lost: { readonly layout: Layout; readonly system: System };
let next: { readonly layout: Layout; readonly system: System } | undefined;
let cloud: Cloud;
let hosts: readonly [CloudHost, CloudHost];

async function startRegion(name: string): Promise<{ layout: Layout; system: System }> {
  const own = join(directory, name);
  const layout = await chooseLayout({ stage, directory: own, anyPorts: true });
  const options = { layout, agents: [], restart: false, onLine: noteProgress };
  return { layout, system: await startSystem(options) };
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cyborg-regions-'));
  mkdirSync(join(directory, 'bin'));
  // OpenStack's client prints a token of the admin.
  writeFileSync(join(directory, 'bin/openstack'), '#!/bin/sh\necho admin-token\n', { mode: 0o755 });
  lost = await startRegion('lost');
  cloud = createCloud(lost.layout);
  hosts = [createHost('cmp1', directory), createHost('cmp2', directory)];
  await cloud.prepare(hosts);
  for (const host of hosts) {
    await host.enrol(lost.layout);
    host.startAgent();
  }
});

afterAll(async () => {
  for (const host of hosts ?? []) await host.agent().killHard();
  await next?.system.stop();
  await lost?.system.stop();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

const stored = () => handlesOf(stage, hosts);

async function untilStored(
  what: string,
  holds: (handles: readonly PlacedHandle[]) => boolean,
): Promise<readonly PlacedHandle[]> {
  return waitFor(what, stored, holds);
}

/** A server that is ACTIVE; undefined, and no server, if it is not. */
async function tryBoot(kind: 'gpu'): Promise<string | undefined> {
  const id = (await cloud.create(kind)) ?? '';
  if ((await cloud.built(id)) === 'ACTIVE') return id;
  await cloud.remove(id);
  return undefined;
}

/** The place of the only handle that the server holds. */
function placeOf(handles: readonly PlacedHandle[], server: string): string {
  const [own, other] = handles.filter(({ claim }) => claim?.instanceUuid === server);
  expect(own && !other, `a handle of ${server}`).toBe(true);
  return own ? nameOf(own) : '';
}

function nameOf({ host, address, type, uuid }: PlacedHandle): string {
  return `${host} ${type === 'MDEV' ? uuid : address}`;
}

/** A copy of the tables' rows, older than their last writes. */
async function copyTables(): Promise<ReadonlyMap<string, readonly Row[]>> {
  const backups = backupStore(createDocuments().documents);
  const copy = new Map<string, readonly Row[]>();
  for (const table of copied) {
    copy.set(table, [...(await backups.rows(tableName(stage, table))).values()]);
  }
  return copy;
}

/** What `aws dynamodb import-table` does in the other region. */
async function importCopy(copy: ReadonlyMap<string, readonly Row[]>): Promise<void> {
  const client = new DynamoDBClient();
  const backups = backupStore(createDocuments().documents);
  for (const table of tables.filter(({ name }) => copy.has(name))) {
    const { StreamSpecification: _, ...input } = tableInput(stage, table);
    const TableName = `${tableName(stage, table.name)}-${suffix}`;
    await client.send(new CreateTableCommand({ ...input, TableName }));
    for (const row of copy.get(table.name) ?? []) await backups.put(TableName, row);
  }
  client.destroy();
}

/** The AWS endpoints of this process are no longer those of the lost region. */
function leaveLostRegion(): void {
  for (const name of Object.keys(process.env)) {
    if (environmentBefore[name] === undefined) delete process.env[name];
  }
  Object.assign(process.env, environmentBefore, {
    AWS_REGION: 'eu-central-1',
    KEYSTONE_URL: `${urlOf(lost.layout, 'keystone')}/v3`,
    PLACEMENT_URL: urlOf(lost.layout, 'placement'),
    NOVA_URL: `${urlOf(lost.layout, 'nova')}/v2.1`,
    GLANCE_URL: urlOf(lost.layout, 'glance'),
  });
}

/** Settings of the functions in the other region, as AWS shows them to the operator. */
function writeSettings(layout: Layout): void {
  const names = [...Object.keys(settingsOf(layout)), 'PLACEMENT_URL', 'NOVA_URL', 'GLANCE_URL'];
  const all = environmentOf(layout);
  const own = Object.fromEntries(names.map((name) => [name, all[name]]));
  writeFileSync(join(layout.directory, 'enrolled', `${stage}.json`), JSON.stringify(own));
}

/** Output of a block of the document, in the operator's shell. @throws if it fails */
async function runBlock(
  name: string,
  layout: Layout,
  variables: Readonly<Record<string, string>> = {},
  change = (text: string) => text,
): Promise<string> {
  const env = {
    ...environmentOf(layout),
    PATH: `${join(directory, 'bin')}:${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    STAGE: stage,
    DIR: join(layout.directory, 'enrolled'),
    HOSTS: 'cmp1 cmp2',
    CYBORG_URL: `${urlOf(layout, 'api')}/accelerator/v2`,
    OS_AUTH_URL: urlOf(lost.layout, 'keystone'),
    OS_USERNAME: 'admin',
    OS_PASSWORD: password,
    OS_PROJECT_NAME: 'admin',
    OS_REGION_NAME: region,
    ...variables,
  };
  const script = `set -eu\n${blocks.get('settings')}\n${change(blocks.get(name) ?? 'exit 9')}`;
  const options = { env, cwd: root };
  return (await promisify(execFile)('bash', ['-c', script], options)).stdout;
}

/** Enrols as the document says, with the options that this machine needs. */
const enrolByBlock: Enrolling = async (layout, host, local) => {
  const change = (text: string) => text.replace(' --out ', ` ${local.join(' ')} --out `);
  expect(await runBlock('enrol', layout, { HOST: host }, change)).toContain('may connect with');
};

it('servers keep their devices in another region, no device is given twice, and what the copy lacks is named', async () => {
  const [cmp1, cmp2] = hosts;
  await untilStored('12 handles', (handles) => {
    const offered = handles.filter(({ info }) => info.asked_type !== 'fake-2');
    return offered.length === 12;
  });
  await waitFor(
    'Placement to have both hosts',
    () => operate(lost.layout, ['reconcile', 'cmp1', 'cmp2']),
    ({ code }) => code === 0,
  );
  const [g1, g2, g3] = [await cloud.boot('gpu'), await cloud.boot('gpu'), await cloud.boot('gpu')];
  const vgpus = await Promise.all(Array.from({ length: 5 }, () => cloud.boot('vgpu')));
  const bootedMs = Date.now();
  const atFirst = await stored();
  const of = (server: string) => placeOf(atFirst, server);
  expect([g1, g2, g3].map((id) => of(id).slice(0, 4))).toEqual(['cmp1', 'cmp1', 'cmp2']);
  const onFirst = vgpus.filter((id) => of(id).startsWith('cmp1'));
  const [v5 = '', none] = vgpus.filter((id) => of(id).startsWith('cmp2'));
  expect([onFirst.length, none]).toEqual([4, undefined]);
  const [vd = '', ...kept] = onFirst;

  // The copy. Nova's times are whole seconds: what changes within one counts as changed later.
  await waitFor(
    'seconds to pass between the last server and the copy',
    async () => Date.now(),
    (now) => now > bootedMs + 2500,
  );
  const moment = new Date().toISOString();
  const copy = await copyTables();

  // What the copy lacks: two servers got devices of deleted ones, one a device that was free.
  await cloud.remove(g1);
  await cloud.remove(vd);
  const gNew = await cloud.boot('gpu');
  const vNew = await cloud.boot('vgpu');
  const gOther = await cloud.boot('gpu');
  await cloud.remove(g3);
  const atLast = await untilStored('the releases to end', (handles) =>
    handles.every(({ release }) => release === undefined),
  );
  expect([placeOf(atLast, gNew), placeOf(atLast, vNew)]).toEqual([of(g1), of(vd)]);
  const parts = lost.system.processes.filter((name) => name !== 'openstack');
  await Promise.all(parts.map((name) => lost.system.kill(name)));
  await cloud.remove(v5);
  const mdevs = [cmp1.mdevs(), cmp2.mdevs()];
  expect(mdevs.map((each) => each.length)).toEqual([4, 1]);

  const beganMs = performance.now();
  // The stack in the other region; its functions are stopped while the rows are restored.
  leaveLostRegion();
  next = await startRegion('next');
  const { layout, system } = next;
  for (const name of ['api', 'consumers']) await system.kill(name);
  await importCopy(copy);
  const told = await runBlock('restore', layout, { MOMENT: moment });
  expect(told).toMatch(/Nothing was written.*Restored\./s);
  for (const name of ['consumers', 'api']) await system.start(name);
  expect(await runBlock('register', layout)).toMatch(/3 would be updated.*3 updated/s);
  // Nova's services keep the catalog that they have read.
  await lost.system.kill('openstack');
  await lost.system.start('openstack');
  const tooEarly = await cloud.create('gpu');
  if (tooEarly) expect(await cloud.built(tooEarly)).toBe('ERROR');
  if (tooEarly) await cloud.remove(tooEarly);
  for (const host of hosts) {
    await host.agent().stop();
    await host.enrol(layout, enrolByBlock);
    host.startAgent();
  }

  // What nothing contradicts is reinstated; the hosts keep what their servers have.
  const withheld = new Set([of(g1), placeOf(atLast, gOther), ...[vd, ...kept].map(of)]);
  const restored = await untilStored('all other handles to be reinstated', (handles) =>
    handles.every((each) =>
      each.info.asked_type === 'fake-2'
        ? each.release === undefined
        : (each.restoredAt !== undefined) === withheld.has(nameOf(each)) && !each.release,
    ),
  );
  expect(withheld.size).toBe(6);
  const reinstatedSeconds = secondsSince(beganMs);
  for (const server of [g2, ...kept]) expect(placeOf(restored, server)).toBe(of(server));
  expect([cmp1.mdevs(), cmp2.mdevs()]).toEqual(mdevs);
  for (const server of [g2, ...kept, gNew, gOther, vNew]) {
    expect(await cloud.server(server)).toMatchObject({ status: 'ACTIVE' });
  }

  // Servers that the copy lacks are named, and those that it has and Nova no longer.
  writeSettings(layout);
  const looked = await runBlock('look', layout);
  const after = (words: string) =>
    [...looked.matchAll(new RegExp(`${words}: ([0-9a-f-]{36}(?:, [0-9a-f-]{36})*)`, 'g'))]
      .flatMap(([, ids = '']) => ids.split(', '))
      .sort();
  expect(after('allocated without a request')).toEqual([gNew, gOther, vNew].sort());
  expect(after('bound without allocation')).toEqual([g1, g3, vd, v5].sort());
  expect(looked).toMatch(/host cmp1: 5 handles are restored.*because of instances/);
  expect(looked).toMatch(new RegExp(`host cmp2: 1 handles.*${gOther}`));
  expect(looked).toMatch(/cmp2: connected since/);

  // A deleted server holds its device: Nova's next one is refused until its ARQs are deleted.
  const refused = (await cloud.create('gpu')) ?? '';
  expect(await cloud.built(refused)).toBe('ERROR');
  await cloud.remove(refused);
  for (const server of [g1, g3, vd, v5]) await runBlock('end', layout, { SERVER: server });
  // Until a sync has come, Placement may offer a device that is withheld.
  const again = await waitFor(
    'a server to get the device that is free',
    () => tryBoot('gpu'),
    (id) => id !== undefined,
  );
  expect(placeOf(await stored(), again ?? '')).toBe(of(g3));
  const firstSeconds = secondsSince(beganMs);
  await waitFor('the mdev of the deleted server to go', async () => cmp2.mdevs(), isEmpty);
  expect(cmp1.mdevs()).toEqual(mdevs[0]);

  // A release works, and its device goes to the next server.
  await cloud.remove(g2);
  const second = await cloud.boot('gpu');
  expect(placeOf(await stored(), second)).toBe(of(g2));
  const full = (await cloud.create('gpu')) ?? '';
  expect(await cloud.built(full)).toBe('ERROR');
  await cloud.remove(full);

  // The servers that the copy lacks are deleted: their devices are cleaned and free.
  for (const server of [gNew, gOther, vNew]) await cloud.remove(server);
  await waitFor(
    'the hosts to agree with Placement',
    () => runBlock('repair', layout).catch(() => 'differs'),
    (output) => output !== 'differs',
  );
  await untilStored('no handle to be withheld or released', (handles) =>
    handles.every(({ restoredAt, release }) => !restoredAt && !release),
  );
  expect(cmp1.mdevs()).toEqual(kept.map((id) => of(id).split(' ')[1]).sort());
  const last = [await cloud.boot('gpu'), await cloud.boot('gpu')];
  const holding = await stored();
  expect(last.map((id) => placeOf(holding, id)).sort()).toEqual(
    [of(g1), placeOf(atLast, gOther)].sort(),
  );
  await waitFor(
    'the doctor to find nothing wrong',
    () => operate(layout, ['doctor']),
    ({ output }) => / 0 wrong, /.test(output),
  );
  process.stdout.write(
    `In another region: handles reinstated after ${reinstatedSeconds} s, the first server after ` +
      `${firstSeconds} s, all agreed after ${secondsSince(beganMs)} s.\n`,
  );
});

function secondsSince(ms: number): number {
  return Math.round((performance.now() - ms) / 1000);
}

function isEmpty(found: readonly unknown[]): boolean {
  return found.length === 0;
}
