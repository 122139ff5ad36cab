// The places of unbound ARQs: rows with an attribute for each ARQ, and their count. A creation
// takes its places by one conditional update.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { PartContent, UnboundPart } from '#core/domain/arq/unbound-places.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type Row, unboundKey } from '#core/store/rows/rows.ts';
import {
  addMembers,
  membersOf,
  removeMember,
  removeMembers,
} from '#core/store/table/bounded-set.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { held } from '#core/store/table/writes.ts';

export interface UnboundPlaceStore {
  /**
   * Takes a place for each ARQ, or none.
   *
   * @param until when nothing needs the row any more; seconds since 1970
   * @returns what the part has then; undefined if it has too little room, or is not stored, or
   *   has places of these ARQs
   */
  take(
    part: UnboundPart,
    uuids: readonly string[],
    until: number,
  ): Promise<PartContent | undefined>;
  read(part: UnboundPart): Promise<PartContent | undefined>;
  /** Stores the part. False if it is stored. */
  create(part: UnboundPart, uuids: readonly string[], until: number): Promise<boolean>;
  /** Frees the places of ARQs as they were read. False if another request was first. */
  tidy(
    part: UnboundPart,
    content: PartContent,
    uuids: readonly string[],
    nowMs: number,
  ): Promise<boolean>;
  /** False if the part has no place of the ARQ. */
  leave(part: UnboundPart, uuid: string): Promise<boolean>;
}

const prefix = 'arq#';
/** Bounds the expression. */
const tidiedMax = 400;

export function unboundPlaceStore(client: Documents, table: string): UnboundPlaceStore {
  const setOf = ({ projectId, index, max }: UnboundPart) => ({
    table,
    Key: unboundKey(projectId, index),
    prefix,
    count: 'arq_count',
    max,
  });
  const namesOf = (uuids: readonly string[]) => uuids.map((uuid) => prefix + uuid);
  return {
    async take(part, uuids, until) {
      const besides = { set: { expires_at: until } };
      const row = await addMembers(client, setOf(part), namesOf(uuids), 1, besides);
      return row && toContent(row);
    },

    async read(part) {
      const row = await getRow(client, table, unboundKey(part.projectId, part.index));
      return row && toContent(row);
    },

    create(part, uuids, until) {
      const members = Object.fromEntries(namesOf(uuids).map((name) => [name, 1]));
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item: {
              ...unboundKey(part.projectId, part.index),
              ...members,
              arq_count: uuids.length,
              expires_at: until,
            },
            ConditionExpression: 'attribute_not_exists(pk)',
          }),
        ),
      );
    },

    tidy(part, content, uuids, nowMs) {
      const names = namesOf(uuids.slice(0, tidiedMax));
      const kept = content.uuids.length - names.length;
      return removeMembers(client, setOf(part), names, {
        set: { kept, tidied_ms: nowMs },
        revision: 'removals',
        seen: content.removals,
      });
    },

    leave: (part, uuid) => removeMember(client, setOf(part), prefix + uuid, { grows: 'removals' }),
  };
}

function toContent(row: Row): PartContent {
  return {
    uuids: membersOf(row, prefix).map((name) => name.slice(prefix.length)),
    removals: Number(row.removals ?? 0),
    kept: Number(row.kept ?? 0),
    ...present({ tidiedMs: row.tidied_ms as number | undefined }),
  };
}
