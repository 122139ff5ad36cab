// Compares what a cloud has stored with what Nova, Placement and the hosts have, and with the
// history. Reads raw rows, and shares no code with the product but the names of its tables: a
// fault in the product's own reads cannot hide itself here.

import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type TableDefinition, tableName } from '#core/store/table/tables.ts';

type Row = Readonly<Record<string, unknown>>;

/** What the world outside of the tables has. */
export interface Outside {
  /** Servers of Nova that have an accelerator. */
  readonly servers: readonly string[];
  /** Provider → resource class → units in use. */
  readonly used: ReadonlyMap<string, number>;
  readonly reserved: ReadonlyMap<string, number>;
  /** Consumers of Placement with allocations of accelerators. */
  readonly consumers: readonly string[];
  /** Mediated devices that the hosts have. */
  readonly mdevs: readonly string[];
}

export interface Stored {
  readonly arqs: readonly Row[];
  readonly inventory: readonly Row[];
  readonly history: readonly Row[];
}

export async function readTables(stage: string): Promise<Stored> {
  const client = new DynamoDBClient();
  const rowsOf = (name: TableDefinition['name']) => scan(client, tableName(stage, name));
  try {
    const [arqs, inventory, history] = await Promise.all([
      rowsOf('arqs'),
      rowsOf('inventory'),
      rowsOf('history'),
    ]);
    return { arqs, inventory, history };
  } finally {
    client.destroy();
  }
}

async function scan(client: DynamoDBClient, TableName: string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const { Items = [] } of paginateScan(
    { client },
    { TableName, ConsistentRead: true },
  )) {
    rows.push(...Items.map((item) => unmarshall(item)));
  }
  return rows;
}

const text = (row: Row, name: string) => (row[name] === undefined ? '' : String(row[name]));
const keyOf = (row: Row) => text(row, 'pk').split('#').slice(1).join('#');
const ofKind = (rows: readonly Row[], kind: string) =>
  rows.filter((row) => text(row, 'pk').startsWith(`${kind}#`));

export const handlesIn = ({ inventory }: Stored) =>
  inventory.filter((row) => text(row, 'sk').startsWith('HANDLE#'));
const uuidOf = (handle: Row) => text(handle, 'sk').slice('HANDLE#'.length);

/** What must never be, even while faults happen. */
export function violations(stored: Stored): string[] {
  const handles = handlesIn(stored);
  const claimed = handles.filter((row) => row.arq_uuid !== undefined);
  const twice = repeated(claimed.map((row) => text(row, 'arq_uuid')));
  return [
    ...twice.map((arq) => `ARQ ${arq} has two attach handles.`),
    ...repeated(handles.map(uuidOf)).map((uuid) => `Two attach handles have the uuid ${uuid}.`),
    ...dividedSets(claimed),
  ];
}

/** Rows that one host may have at most; as docs/security.md says. */
const limits = { devices: 256, handles: 4096 };

/** What one host may cost, whatever it reports. */
export function beyondLimits({ inventory }: Stored): string[] {
  const devices = inventory.filter((row) => text(row, 'sk').startsWith('DEVICE#'));
  return [...Map.groupBy(devices, keyOf)].flatMap(([host, rows]) => {
    const handles = rows.reduce((sum, row) => sum + Number(row.handle_count ?? 0), 0);
    const isOver = rows.length > limits.devices || handles > limits.handles;
    return isOver ? [`Host ${host} has ${rows.length} devices and ${handles} handles.`] : [];
  });
}

/** Parts of one set belong to one server. */
function dividedSets(claimed: readonly Row[]): string[] {
  const setOf = ({ locality }: Row) => (locality as { readonly set?: string } | undefined)?.set;
  const inSets = claimed.filter((row) => setOf(row) !== undefined);
  const bySet = Map.groupBy(inSets, (row) => `${keyOf(row)} ${setOf(row)}`);
  return [...bySet].flatMap(([set, rows]) => {
    const holders = new Set(rows.map((row) => text(row, 'instance_uuid')));
    return holders.size > 1 ? [`Set ${set} is held by ${[...holders].join(' and ')}.`] : [];
  });
}

/** What differs once nothing is under way; empty if all agree. */
export function differences(stored: Stored, outside: Outside): string[] {
  const handles = handlesIn(stored);
  const claimed = handles.filter((row) => row.arq_uuid !== undefined);
  const arqs = ofKind(stored.arqs, 'ARQ');
  const instances = ofKind(stored.arqs, 'INSTANCE');
  const held = arqs.filter((row) => row.handle_uuid !== undefined);
  const pair = (arq: string, handle: string) => `${arq} ${handle}`;
  return [
    ...violations(stored),
    ...same(
      'pairs of ARQ and attach handle, by the ARQs and by the handles',
      held.map((row) => pair(keyOf(row), text(row, 'handle_uuid'))),
      claimed.map((row) => pair(text(row, 'arq_uuid'), uuidOf(row))),
    ),
    ...same('servers of Nova and instances', outside.servers, instances.map(keyOf)),
    ...same(
      'instances and holders of handles',
      instances.map(keyOf),
      claimed.map((row) => text(row, 'instance_uuid')),
    ),
    ...same('servers of Nova and consumers of Placement', outside.servers, outside.consumers),
    ...arqs
      .filter((row) => row.state !== 'Bound' && !isForSweep(row))
      .map((row) => `ARQ ${keyOf(row)} is ${text(row, 'state')}.`),
    ...[...ofKind(stored.arqs, 'RELEASE'), ...ofKind(stored.arqs, 'PROGRAM')].map(
      (row) => `Work of a host is not finished: ${text(row, 'pk')}.`,
    ),
    ...handles
      .filter((row) => row.quarantine !== undefined || row.release_id !== undefined)
      .map((row) => `Handle ${uuidOf(row)} is withheld: ${text(row, 'quarantine')}`),
    ...same(
      'units in use, by Placement and by the handles',
      [...outside.used].map(([provider, units]) => `${provider} ${units}`),
      [...countBy(claimed.map(keyOf))].map(([provider, units]) => `${provider} ${units}`),
    ),
    ...[...outside.reserved].map(([provider, units]) => `${provider} has ${units} reserved.`),
    ...same(
      'mdevs of the hosts and claimed handles',
      outside.mdevs,
      claimed.filter((row) => row.type === 'MDEV').map(uuidOf),
    ),
    ...inHistory(stored.history, claimed),
  ];
}

/**
 * Nova never learned of it, because the answer to its POST was lost: the sweep deletes it, or a
 * recount of the quota has barred what that POST might store yet.
 */
function isForSweep({ state, due_at, is_barred }: Row): boolean {
  if (is_barred === true) return true;
  return (state === 'Initial' || state === 'Unbound') && due_at !== undefined;
}

/** Each claim and each release once, in turns, and a claim that lasts for each that is held. */
function inHistory(history: readonly Row[], claimed: readonly Row[]): string[] {
  const records = ofKind(history, 'DAY').map((row) => ({
    at: text(row, 'sk').split('#')[0] ?? '',
    kind: text(row, 'kind'),
    claim: `${text(row, 'handle_uuid')} ${text(row, 'arq_uuid')}`,
  }));
  const begun = records.filter(({ kind }) => kind === 'handle.claimed');
  const ended = records.filter(({ kind }) => kind === 'handle.released');
  const lasting = claimed.map((row) => `${uuidOf(row)} ${text(row, 'arq_uuid')}`);
  const claimsOf = (some: typeof records) => some.map(({ claim }) => claim);
  return [
    ...repeated(claimsOf(begun)).map((claim) => `The history has claim ${claim} twice.`),
    ...repeated(claimsOf(ended)).map((claim) => `The history has release ${claim} twice.`),
    ...same('claims of the history, and those that ended or last', claimsOf(begun), [
      ...claimsOf(ended),
      ...lasting,
    ]),
    ...overlaps(begun, ended),
  ];
}

interface Timed {
  readonly at: string;
  readonly claim: string;
}

/** A handle's next claim begins after the end of the last one. */
function overlaps(begun: readonly Timed[], ended: readonly Timed[]): string[] {
  const endOf = new Map(ended.map(({ claim, at }) => [claim, at]));
  const byHandle = Map.groupBy(begun, ({ claim }) => claim.split(' ')[0] ?? '');
  return [...byHandle].flatMap(([handle, claims]) => {
    const inOrder = [...claims].sort((one, other) => (one.at < other.at ? -1 : 1));
    return inOrder.slice(1).flatMap(({ at }, index) => {
      const end = endOf.get(inOrder[index]?.claim ?? '');
      return end !== undefined && end <= at ? [] : [`Claims of handle ${handle} overlap at ${at}.`];
    });
  });
}

function same(what: string, one: readonly string[], other: readonly string[]): string[] {
  const missing = (from: readonly string[], of: readonly string[]) =>
    [...new Set(of)].filter((each) => !from.includes(each));
  const [left, right] = [missing(other, one), missing(one, other)];
  return left.length + right.length === 0
    ? []
    : [`${what}: only the first has ${left.join(', ')}; only the second has ${right.join(', ')}`];
}

function repeated(values: readonly string[]): string[] {
  return [...countBy(values)].flatMap(([value, count]) => (count > 1 ? [value] : []));
}

function countBy(values: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
