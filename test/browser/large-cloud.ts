// A local system with 10,000 hosts and 100,000 devices. A few hosts send reports; copies of their
// rows get other names, and the engine imports the copies before it starts.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Row } from '#core/store/rows/rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import { engineBinary, tableInput } from '#local/aws/dynamodb/dynamodb.ts';
import type { Layout } from '#local/process/layout.ts';
import { engineFile } from '#local/process/parts.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { type Cloud, openCloud } from './cloud.ts';

export const hostCount = 10_000;
export const devicesEach = 10;

const hourMs = 3_600_000;
/** Hosts whose rows are in one file of the export: some megabytes. */
const fileHostsMax = 500;

/** The hosts that report, and how many hosts of a hundred are like each. */
const templates = { healthy: 93, drained: 3, away: 2, hot: 2 } as const;
type Template = keyof typeof templates;

export async function startLargeCloud(directory: string): Promise<Cloud> {
  const rows = await rowsOfTemplates(join(directory, 'template'));
  const cloud = await openCloud(
    join(directory, 'large'),
    () => [],
    (layout) => {
      storeRows(layout, rows);
      storeAggregates(layout);
    },
  );
  // They would compare devices with Placement, on the processors that are measured.
  await cloud.kill('consumers');
  return cloud;
}

async function rowsOfTemplates(directory: string): Promise<ReadonlyMap<string, readonly Row[]>> {
  // The process's environment, which a system fills with its own addresses.
  const variables = { ...process.env };
  const cloud = await openCloud(directory, () => []);
  try {
    await cloud.kill('consumers');
    for (const name of Object.keys(templates) as Template[]) {
      const at = Date.now() - (name === 'away' ? hourMs : 0);
      await applySettled(cloud.deps, name, aReport(boardsOf(name)), at);
    }
    const drain = { reason: 'A rack is moved.' };
    await cloud.operator.post('/hosts/drained/drain', 'admin-token', drain);
    const all = await scan(tableName(cloud.layout.stage, 'inventory'));
    // Rows of a provider are below its uuid, which the device's row has.
    const hosts = new Map<unknown, string>();
    for (const row of all) {
      const hostname = String(row.pk).match(/^HOST#(.+)/)?.[1];
      if (hostname === undefined) continue;
      hosts.set(row.pk, hostname);
      for (const uuid of JSON.stringify(row).match(uuids) ?? []) hosts.set(`RP#${uuid}`, hostname);
    }
    return Map.groupBy(all, ({ pk }) => hosts.get(pk) ?? '');
  } finally {
    await cloud.stop();
    process.env = variables;
  }
}

function boardsOf(name: Template) {
  return Array.from({ length: devicesEach }, (_, at) =>
    aDevice({
      address: `0000:${(at + 16).toString(16)}:00.0`,
      provider_suffix: `Board${at}`,
      model: 'Fake board',
      handles: 1,
      ...(name === 'hot' &&
        at === 0 && {
          health: { state: 'unhealthy', reason: 'is hot', since: new Date().toISOString() },
        }),
    }),
  );
}

async function scan(TableName: string): Promise<Row[]> {
  const { documents } = createDocuments();
  const rows: Row[] = [];
  let ExclusiveStartKey: Row | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({ TableName, ...(ExclusiveStartKey && { ExclusiveStartKey }) }),
    );
    rows.push(...(page.Items ?? []));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return rows;
}

function storeRows(layout: Layout, rows: ReadonlyMap<string, readonly Row[]>): void {
  const source = join(layout.directory, 'export');
  const data = join(source, tableName(layout.stage, 'inventory'), 'data');
  mkdirSync(data, { recursive: true });
  const schema = join(layout.directory, 'schema.json');
  const inputs = tables.map((each) => ({ Table: tableInput(layout.stage, each) }));
  writeFileSync(schema, JSON.stringify(inputs));
  const lines = new Map(
    [...rows].map(([name, own]) => [
      name,
      own.map((row) => JSON.stringify({ Item: marshall(row, { removeUndefinedValues: true }) })),
    ]),
  );
  for (let from = 0; from < hostCount; from += fileHostsMax) {
    const text = Array.from({ length: fileHostsMax }, (_, at) => {
      const template = templateOf(from + at);
      return (lines.get(template) ?? []).map((line) => copied(line, template, from + at)).join('');
    }).join('');
    writeFileSync(join(data, `${from}.json.gz`), gzipSync(text, { level: 1 }));
  }
  const paths = ['--source', source, '--schema', schema, '--output', engineFile(layout)];
  const imported = spawnSync(engineBinary(), ['import', ...paths], { encoding: 'utf8' });
  if (imported.status !== 0) throw new Error(`The import failed: ${imported.stderr}`);
  rmSync(source, { recursive: true });
}

function templateOf(index: number): Template {
  let left = (index * 37) % 100;
  for (const [name, share] of Object.entries(templates)) {
    if (left < share) return name as Template;
    left -= share;
  }
  return 'healthy';
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

const hostnameOf = (index: number) => `cmp${String(index + 1).padStart(5, '0')}`;

/** 250 racks in three zones; the last hosts are in none. */
function storeAggregates(layout: Layout): void {
  const rackHosts = 39;
  const aggregates = Array.from({ length: 250 }, (_, rack) => ({
    id: rack + 1,
    name: `rack${rack + 1}`,
    availability_zone: `az${(rack % 3) + 1}`,
    hosts: Array.from({ length: rackHosts }, (_, at) => hostnameOf(rack * rackHosts + at)),
  }));
  const directory = join(layout.directory, 'openstack');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'nova.json'), JSON.stringify({ aggregates }));
}

/** The row of another host: its name, and other uuids wherever the row has one. */
function copied(line: string, template: Template, index: number): string {
  const hostname = hostnameOf(index);
  const renamed = line
    .replaceAll(`HOST#${template}"`, `HOST#${hostname}"`)
    .replaceAll(`"${template}"`, `"${hostname}"`)
    .replaceAll(`"${template}_`, `"${hostname}_`);
  return `${renamed.replaceAll(uuids, (uuid) => uuidOf(uuid, index))}\n`;
}

/** With the same last digit, which is the number of a shard. */
function uuidOf(uuid: string, index: number): string {
  const hash = createHash('sha1').update(`${uuid} ${index}`).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`];
  return [...parts, `8${hash.slice(17, 20)}`, `${hash.slice(20, 31)}${uuid.at(-1)}`].join('-');
}
