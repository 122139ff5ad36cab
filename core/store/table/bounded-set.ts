// Sets of limited size. The members of a set are attributes of one row, and one more attribute
// counts them. Each write changes both on its own condition, so that requests at the same time
// store at most as many members as are allowed, and a request that is repeated counts once.

import type { Row } from '#core/store/rows/rows.ts';
import type { Documents } from './documents.ts';
import { getRow, type Key } from './reads.ts';
import { updated, updateIf } from './writes.ts';

export interface BoundedSet {
  readonly table: string;
  readonly Key: Key;
  /** How the names of the members' attributes begin. */
  readonly prefix: string;
  /** The attribute that counts them; a row of an earlier release has none. */
  readonly count: string;
  readonly max: number;
}

interface Addition {
  /** Attributes that the write sets, too. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** An attribute that grows by one. */
  readonly grows?: string;
  /** Members that the write removes, to make room. */
  readonly isOver?: (member: unknown) => boolean;
  /** Whether other writers make and delete the row: then it must exist. */
  readonly isInRow?: boolean;
}

interface Removal extends Pick<Addition, 'grows'> {
  /** A condition of `#member` that holds only if it exists. */
  readonly condition?: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, unknown>>;
}

/** Far more rounds than other writers can come first, unless something is wrong. */
const roundsMax = 20;

/**
 * Adds the member, or replaces it.
 *
 * @returns `full` if the set has as many others as are allowed, `absent` if the row must exist
 */
export async function putMember(
  client: Documents,
  set: BoundedSet,
  name: string,
  value: unknown,
  addition: Addition = {},
): Promise<'stored' | 'full' | 'absent'> {
  for (let round = 1; round <= roundsMax; round++) {
    const row = await getRow(client, set.table, set.Key);
    if (!row && addition.isInRow) return 'absent';
    const write = planPut(set, row ?? {}, name, value, addition);
    if (write === 'full') return 'full';
    if (await updateIf(client, { TableName: set.table, Key: set.Key, ...write })) return 'stored';
  }
  throw new Error(`${name} was not stored in ${roundsMax} rounds.`);
}

/** False if it is not a member, or if the condition does not hold. */
export function removeMember(
  client: Documents,
  { table, Key, count }: BoundedSet,
  name: string,
  { grows, condition, names, values }: Removal = {},
): Promise<boolean> {
  return updateIf(client, {
    TableName: table,
    Key,
    UpdateExpression: `REMOVE #member ADD ${count} :less${grows ? `, ${grows} :one` : ''}`,
    ConditionExpression: condition ?? 'attribute_exists(#member)',
    ExpressionAttributeNames: { '#member': name, ...names },
    ExpressionAttributeValues: { ':less': -1, ...(grows && { ':one': 1 }), ...values },
  });
}

/**
 * Adds all these members, or none, to a row that has its count.
 *
 * @param value of each
 * @returns the row; undefined if there is too little room, no such row, or if it has them already
 */
export function addMembers(
  client: Documents,
  { table, Key, count, max }: BoundedSet,
  names: readonly string[],
  value: unknown,
  { set = {} }: Pick<Addition, 'set'> = {},
): Promise<Row | undefined> {
  const sets = [
    ...names.map((_, index) => `#member${index} = :value`),
    ...Object.keys(set).map((each) => `${each} = :${each}`),
  ];
  return updated(client, {
    TableName: table,
    Key,
    UpdateExpression: `SET ${sets.join(', ')} ADD ${count} :added`,
    // A repeated request has added the first one with the others.
    ConditionExpression: `${count} < :room AND attribute_not_exists(#member0)`,
    ExpressionAttributeNames: placeholders(names),
    ExpressionAttributeValues: {
      ...valuesOf(set),
      ':value': value,
      ':added': names.length,
      ':room': max - names.length + 1,
    },
  });
}

interface TidyRemoval extends Pick<Addition, 'set'> {
  /** An attribute that grows with each removal, and what it was when the members were read. */
  readonly revision: string;
  readonly seen: number;
}

/** Removes all these members. False if another removal came first. */
export function removeMembers(
  client: Documents,
  { table, Key, count }: BoundedSet,
  names: readonly string[],
  { set = {}, revision, seen }: TidyRemoval,
): Promise<boolean> {
  const sets = Object.keys(set).map((each) => `${each} = :${each}`);
  const removed = names.map((_, index) => `#member${index}`).join(', ');
  return updateIf(client, {
    TableName: table,
    Key,
    UpdateExpression:
      `SET ${sets.join(', ')}${removed && ` REMOVE ${removed}`} ` +
      `ADD ${count} :less, ${revision} :one`,
    ConditionExpression: seen === 0 ? `attribute_not_exists(${revision})` : `${revision} = :seen`,
    ...(names.length > 0 && { ExpressionAttributeNames: placeholders(names) }),
    ExpressionAttributeValues: {
      ...valuesOf(set),
      ':less': -names.length,
      ':one': 1,
      ...(seen !== 0 && { ':seen': seen }),
    },
  });
}

export function membersOf(row: Row, prefix: string): string[] {
  return Object.keys(row).filter((name) => name.startsWith(prefix));
}

function placeholders(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [`#member${index}`, name]));
}

function valuesOf(set: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(set).map(([name, each]) => [`:${name}`, each]));
}

function planPut(
  { prefix, count, max }: BoundedSet,
  row: Row,
  name: string,
  value: unknown,
  { set = {}, grows, isOver, isInRow }: Addition,
) {
  const members = membersOf(row, prefix);
  const isNew = !members.includes(name);
  const over = members.filter((each) => each !== name && isOver?.(row[each]));
  const left = members.length - over.length;
  if (isNew && left >= max) return 'full';

  const sets = ['#member = :value', ...Object.keys(set).map((each) => `${each} = :${each}`)];
  const adds = grows ? [`${grows} :one`] : [];
  const conditions = isInRow ? ['attribute_exists(pk)'] : [];
  const values: Record<string, unknown> = {
    ...valuesOf(set),
    ':value': value,
    ...(grows && { ':one': 1 }),
  };
  conditions.push(`${isNew ? 'attribute_not_exists' : 'attribute_exists'}(#member)`);
  // A member that another writer has replaced need not be over.
  over.forEach((each, index) => {
    conditions.push(`#over${index} = :over${index}`);
    values[`:over${index}`] = row[each];
  });
  if (row[count] === members.length) {
    adds.push(`${count} :added`);
    values[':added'] = Number(isNew) - over.length;
    if (isNew) {
      conditions.push(`${count} < :room`);
      values[':room'] = max + over.length;
    }
  } else {
    // The first member, or a row that an earlier release has written: count what was read.
    sets.push(`${count} = :counted`);
    values[':counted'] = left + Number(isNew);
    conditions.push(
      row[count] === undefined ? `attribute_not_exists(${count})` : `${count} = :was`,
    );
    if (row[count] !== undefined) values[':was'] = row[count];
  }
  const removal = over.map((_, index) => `#over${index}`).join(', ');
  return {
    UpdateExpression: [
      `SET ${sets.join(', ')}`,
      removal && `REMOVE ${removal}`,
      adds.length > 0 && `ADD ${adds.join(', ')}`,
    ]
      .filter(Boolean)
      .join(' '),
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeNames: {
      '#member': name,
      ...Object.fromEntries(over.map((each, index) => [`#over${index}`, each])),
    },
    ExpressionAttributeValues: values,
  };
}
