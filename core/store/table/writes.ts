// Conditional writes. A condition that does not hold is an ordinary answer here, not an exception.

import {
  DeleteCommand,
  type DeleteCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import type { Row } from '#core/store/rows/rows.ts';
import { cancellationCodes, type Documents } from './documents.ts';

export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** DynamoDB's bound on one transaction. */
export const transactItemsMax = 100;

/** `done`, or the indexes of the operations whose condition did not hold; then nothing changed. */
type TransactOutcome = 'done' | { readonly refused: readonly number[] };

export async function transact(
  client: Documents,
  items: readonly TransactItem[],
): Promise<TransactOutcome> {
  try {
    await client.send(new TransactWriteCommand({ TransactItems: [...items] }));
    return 'done';
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'TransactionCanceledException') throw error;
    const refused = cancellationCodes(error).flatMap((code, index) =>
      code === 'ConditionalCheckFailed' ? [index] : [],
    );
    if (refused.length === 0) throw error;
    return { refused };
  }
}

/** Whether the condition held and the row was written. */
export async function updateIf(client: Documents, update: UpdateCommandInput): Promise<boolean> {
  return held(client.send(new UpdateCommand(update)));
}

/** Whether the condition held and the row was deleted. */
export async function deleteIf(client: Documents, deletion: DeleteCommandInput): Promise<boolean> {
  return held(client.send(new DeleteCommand(deletion)));
}

/** The row after the write; undefined if the condition did not hold. */
export async function updated(client: Documents, update: UpdateCommandInput) {
  const writing = client.send(new UpdateCommand({ ...update, ReturnValues: 'ALL_NEW' }));
  return (await held(writing)) ? (await writing).Attributes : undefined;
}

export async function held(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'ConditionalCheckFailedException') return false;
    throw error;
  }
}

/** `SET` of these attributes: expression, names and values for an update. */
export function setting(attributes: Readonly<Record<string, unknown>>) {
  const defined = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return {
    expression: `SET ${defined.map(([name]) => `#${name} = :${name}`).join(', ')}`,
    names: Object.fromEntries(defined.map(([name]) => [`#${name}`, name])),
    values: Object.fromEntries(defined.map(([name, value]) => [`:${name}`, value])),
  };
}

/**
 * Sets these attributes, and removes those that are undefined.
 *
 * @param clauses more of the `SET`
 */
export function replacing(
  attributes: Readonly<Record<string, unknown>>,
  ...clauses: readonly string[]
) {
  const set = setting(attributes);
  const absent = Object.keys(attributes).filter((name) => attributes[name] === undefined);
  const removal = absent.map((name) => `#${name}`).join(', ');
  return {
    ...set,
    expression: [set.expression, ...clauses].join(', ') + (removal && ` REMOVE ${removal}`),
    names: { ...set.names, ...Object.fromEntries(absent.map((name) => [`#${name}`, name])) },
  };
}

/** Sets an attribute of a row that exists, or removes it where the value is undefined. */
export function setOrRemove(table: string, path: string, value: unknown) {
  return (Key: Row): TransactItem => ({
    Update: {
      TableName: table,
      Key,
      UpdateExpression: value === undefined ? `REMOVE ${path}` : `SET ${path} = :value`,
      ConditionExpression: 'attribute_exists(pk)',
      ...(value !== undefined && { ExpressionAttributeValues: { ':value': value } }),
    },
  });
}
