// The DynamoDB tables in memory, behind the commands of the stores: fast enough for many thousand
// scenarios. test/simulation/database.test.ts compares its answers with the local engine's.
//
// Indexes lag behind their tables, as in AWS and unlike the local engine.

import { type TableDefinition, tableName, tables } from '#core/store/table/tables.ts';
import { holds, type Item, type Placeholders, updated } from './expressions.ts';

/** A committed change, as in a stream record. */
export interface RowChange {
  readonly table: TableDefinition['name'];
  readonly before?: Item;
  readonly after?: Item;
}

interface MemoryDatabaseOptions {
  readonly stage: string;
  readonly now: () => number;
  /** How long a change takes to show in indexes; 0 for at once. */
  readonly indexLagMs?: () => number;
  /** Called in the order of the commits. */
  readonly onChange?: (change: RowChange) => void;
}

interface Table {
  readonly definition: TableDefinition;
  readonly rows: Map<string, Item>;
  /** The rows that indexes show. */
  readonly indexed: Map<string, Item>;
  readonly lagging: { readonly key: string; readonly row?: Item; readonly visibleAt: number }[];
}

/** The input of a command of the document client. */
type CommandInput = Readonly<Record<string, unknown>>;

/** The fields that this file reads; each command has some of them. */
interface Input {
  readonly TableName: string;
  readonly IndexName?: string;
  readonly Key: Item;
  readonly Item: Item;
  readonly ConditionExpression?: string;
  readonly UpdateExpression: string;
  readonly KeyConditionExpression: string;
  readonly FilterExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>>;
  readonly ExclusiveStartKey?: Item;
  readonly Limit?: number;
  readonly ScanIndexForward?: boolean;
  readonly Select?: 'COUNT';
  readonly ReturnValues?: 'ALL_NEW';
  readonly TransactItems: readonly Readonly<Record<string, Input>>[];
  readonly RequestItems: Readonly<Record<string, { readonly Keys: readonly Item[] }>>;
}

export interface MemoryDatabase {
  /** Executes one command atomically. @throws errors with the names that DynamoDB gives them */
  execute(command: string, input: CommandInput): unknown;
  /** The row that a write changes. */
  row(write: CommandInput): Item | undefined;
  /** A number that grows with each change. */
  version(): number;
  /** All rows of a table, for the checks. */
  rows(table: TableDefinition['name']): Item[];
}

export function createMemoryDatabase(options: MemoryDatabaseOptions): MemoryDatabase {
  const { stage, now, indexLagMs = () => 0, onChange = () => {} } = options;
  const byName = new Map<string, Table>(
    tables.map((definition) => [
      tableName(stage, definition.name),
      { definition, rows: new Map(), indexed: new Map(), lagging: [] },
    ]),
  );

  let version = 0;

  function tableOf({ TableName }: Pick<Input, 'TableName'>): Table {
    const table = byName.get(TableName);
    if (!table) throw named('ResourceNotFoundException', `Unknown table: ${TableName}`);
    return table;
  }

  function commit(table: Table, key: string, after: Item | undefined): void {
    const before = table.rows.get(key);
    if (after) table.rows.set(key, after);
    else table.rows.delete(key);
    table.lagging.push({ key, ...(after && { row: after }), visibleAt: now() + indexLagMs() });
    // A write that changes nothing makes no stream record.
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    version += 1;
    onChange({
      table: table.definition.name,
      ...(before && { before }),
      ...(after && { after }),
    });
  }

  /**
   * Applies changes in the order of commits: an index never shows a change before an earlier one.
   */
  function catchUp(table: Table): void {
    while (table.lagging[0] && table.lagging[0].visibleAt <= now()) {
      const { key, row } = table.lagging.shift() as Table['lagging'][number];
      if (row) table.indexed.set(key, row);
      else table.indexed.delete(key);
    }
  }

  /** The row after a write, or undefined for a delete. @throws ConditionFailed */
  function decide(kind: string, input: Input, table: Table): { key: string; after?: Item } {
    const keyItem = kind === 'Put' ? input.Item : input.Key;
    const key = keyOf(table.definition, keyItem);
    const before = table.rows.get(key);
    const names = placeholders(input);
    if (input.ConditionExpression && !holds(input.ConditionExpression, before ?? {}, names)) {
      throw named('ConditionalCheckFailedException', 'The conditional request failed');
    }
    if (kind === 'Put') return { key, after: plain(input.Item) };
    if (kind === 'Delete' || kind === 'ConditionCheck') {
      return kind === 'Delete' ? { key } : { key, ...(before && { after: before }) };
    }
    return {
      key,
      after: plain(updated(input.UpdateExpression, before ?? { ...input.Key }, names)),
    };
  }

  function write(kind: string, input: Input): object {
    const table = tableOf(input);
    const { key, after } = decide(kind, input, table);
    commit(table, key, after);
    return input.ReturnValues && after ? { Attributes: plain(after) } : {};
  }

  function transact({ TransactItems }: Input): object {
    const decided = TransactItems.map((item) => {
      const [kind, input] = Object.entries(item)[0] as [string, Input];
      const table = tableOf(input);
      try {
        return { table, ...decide(kind, input, table) };
      } catch (error) {
        if ((error as Error).name !== 'ConditionalCheckFailedException') throw error;
        return undefined;
      }
    });
    const writes = decided.filter((each) => each !== undefined);
    if (writes.length < decided.length) {
      throw Object.assign(named('TransactionCanceledException', 'Transaction cancelled'), {
        CancellationReasons: decided.map((each) => ({
          Code: each ? 'None' : 'ConditionalCheckFailed',
        })),
      });
    }
    const keys = writes.map(({ table, key }) => `${table.definition.name} ${key}`);
    if (new Set(keys).size < keys.length) {
      throw named('ValidationException', 'A transaction cannot have two operations on one item.');
    }
    for (const { table, key, after } of writes) commit(table, key, after);
    return {};
  }

  function query(input: Input): object {
    const table = tableOf(input);
    const index = table.definition.indexes.find(({ name }) => name === input.IndexName);
    if (index) catchUp(table);
    const names = placeholders(input);
    const sortKey = index ? index.sortKey : 'sk';
    const rows = [...(index ? table.indexed : table.rows).values()].filter(
      (row) =>
        (!index || (row[index.partitionKey] !== undefined && row[sortKey] !== undefined)) &&
        holds(input.KeyConditionExpression, row, names),
    );
    const place = (row: Item) => `${row[sortKey] ?? ''} ${keyOf(table.definition, row)}`;
    rows.sort((a, b) => (place(a) < place(b) ? -1 : 1));
    if (input.ScanIndexForward === false) rows.reverse();
    const after = input.ExclusiveStartKey && keyOf(table.definition, input.ExclusiveStartKey);
    const from = after ? rows.findIndex((row) => keyOf(table.definition, row) === after) + 1 : 0;
    const page = rows.slice(from, from + (input.Limit ?? Number.POSITIVE_INFINITY));
    const last = from + page.length < rows.length ? page.at(-1) : undefined;
    const { FilterExpression: filter } = input;
    const project = (row: Item) => {
      if (!index || index.projection === 'ALL') return row;
      const more = typeof index.projection === 'string' ? [] : index.projection;
      const included = more.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]]));
      return { ...keysOf(table.definition, index, row), ...Object.fromEntries(included) };
    };
    const shown = filter ? page.filter((row) => holds(filter, project(row), names)) : page;
    return {
      ...(input.Select === 'COUNT'
        ? { Count: shown.length }
        : { Items: shown.map((row) => plain(project(row))) }),
      ...(last && { LastEvaluatedKey: keysOf(table.definition, index, last) }),
    };
  }

  const commands: Readonly<Record<string, (input: Input) => object>> = {
    GetCommand: (input) => {
      const table = tableOf(input);
      const row = table.rows.get(keyOf(table.definition, input.Key));
      return row ? { Item: plain(row) } : {};
    },
    BatchGetCommand: ({ RequestItems }) => ({
      Responses: Object.fromEntries(
        Object.entries(RequestItems).map(([TableName, { Keys }]) => {
          const table = tableOf({ TableName });
          const rows = Keys.flatMap((key) => table.rows.get(keyOf(table.definition, key)) ?? []);
          return [TableName, plain(rows)];
        }),
      ),
    }),
    QueryCommand: query,
    PutCommand: (input) => write('Put', input),
    UpdateCommand: (input) => write('Update', input),
    DeleteCommand: (input) => write('Delete', input),
    TransactWriteCommand: transact,
  };

  return {
    execute: (command, input) => {
      const run = commands[command];
      if (!run) throw new Error(`The database in memory does not support ${command}.`);
      return run(input as unknown as Input);
    },
    row: (write) => {
      const { Item, Key, ...input } = write as unknown as Input;
      const table = tableOf(input);
      return table.rows.get(keyOf(table.definition, Item ?? Key));
    },
    version: () => version,
    rows: (table) => [...(byName.get(tableName(stage, table))?.rows.values() ?? [])],
  };
}

export function placeholders(input: CommandInput | Input): Placeholders {
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } =
    input as Input;
  return { names, values: plain(values) };
}

/** Drops undefined attributes, as the client does when it marshals. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function keyOf({ hasSortKey }: TableDefinition, item: Item): string {
  return hasSortKey ? `${item.pk}\n${item.sk}` : String(item.pk);
}

function keysOf(
  { hasSortKey }: TableDefinition,
  index: TableDefinition['indexes'][number] | undefined,
  row: Item,
): Item {
  const names = [
    'pk',
    ...(hasSortKey ? ['sk'] : []),
    ...(index ? [index.partitionKey, index.sortKey] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

export function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
