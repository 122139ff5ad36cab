// Lambda's filter of event sources, for the patterns of the stack.
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html

import { marshall } from '@aws-sdk/util-dynamodb';
import type { StreamConsumerName } from '#core/contracts/queues/queues.ts';
import type { Row } from '#core/store/rows/rows.ts';
import {
  type AttributePattern,
  announcedChanges,
  type ChangePatterns,
  followedChanges,
  type Match,
} from '#infra/stack/stream-filters.ts';

export const patternsOf: Readonly<Record<StreamConsumerName, ChangePatterns>> = {
  changes: followedChanges,
  announcements: announcedChanges,
};

export type Table = keyof typeof followedChanges;

export interface Change {
  readonly table: Table;
  readonly before?: Row;
  readonly after?: Row;
}

/** Every attribute of a pattern must match; one matching pattern of the table is enough. */
export function invokes(
  { table, before, after }: Change,
  patterns: ChangePatterns = followedChanges,
): boolean {
  return patterns[table].some(({ dynamodb }) =>
    ('$or' in dynamodb ? dynamodb.$or : [dynamodb]).some(
      ({ NewImage = {}, OldImage = {} }) => fits(after, NewImage) && fits(before, OldImage),
    ),
  );
}

function fits(row: Row | undefined, pattern: Readonly<Record<string, AttributePattern>>): boolean {
  const image = marshall(row ?? {}, { removeUndefinedValues: true }) as Record<string, unknown>;
  return Object.entries(pattern).every(([name, each]) => attributeMatches(image[name], each));
}

function attributeMatches(value: unknown, pattern: AttributePattern): boolean {
  return Object.entries(pattern).every(([type, matches]) => {
    const held = (value as Record<string, unknown> | undefined)?.[type];
    return matches.some((match) => holds(held, match));
  });
}

function holds(held: unknown, match: Match): boolean {
  if ('exists' in match) return (held !== undefined) === match.exists;
  return typeof held === 'string' && held.startsWith(match.prefix);
}
