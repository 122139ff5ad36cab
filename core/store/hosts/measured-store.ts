// What the sweep has measured of hosts: a compressed row for each range of names, of which all are
// read at once.

import { gunzipSync, gzipSync } from 'node:zlib';
import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import {
  firstName,
  lastName,
  type MeasuredRange,
  type Named,
} from '#core/domain/capacity/measured-hosts.ts';
import type { measuredHostsKey, Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { queryAll } from '#core/store/table/reads.ts';

export interface MeasuredStore<Host extends Named> {
  /** Replaces the ranges that are within this one. */
  put(range: MeasuredRange<Host>): Promise<void>;
  /** In no order; some may be too old, and some may overlap. */
  ranges(): Promise<MeasuredRange<Host>[]>;
}

/** What is stored of the hosts. */
export interface Measured<Host extends Named> {
  readonly keyOf: typeof measuredHostsKey;
  /** What is compressed. */
  pack(hosts: readonly Host[]): unknown;
  unpack(packed: unknown): Host[];
}

/** Another release writes and reads another form. */
const form = 1;
/** A row has at most 400 KB. */
const bytesMax = 350_000;

const rangeRow = z.object({
  hosts_after: z.string(),
  at: z.string(),
  form: z.literal(form),
  hosts: z.instanceof(Uint8Array),
});

export function measuredStore<Host extends Named>(
  client: Documents,
  table: string,
  measured: Measured<Host>,
): MeasuredStore<Host> {
  const { keyOf, unpack } = measured;
  /** The rows whose last names are within these. */
  const query = (after: string, upTo: string) =>
    queryAll(client, {
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :after AND :up_to',
      ExpressionAttributeValues: {
        ':pk': keyOf('').pk,
        ':after': keyOf(after).sk,
        ':up_to': keyOf(upTo).sk,
      },
    });

  return {
    async put(range) {
      const before = await query(range.after, range.upTo);
      const rows = measuredRows(measured, range);
      for (const Item of rows) await client.send(new PutCommand({ TableName: table, Item }));
      const put = new Set<unknown>(rows.map(({ sk }) => sk));
      const isWithin = ({ sk, hosts_after: after }: Row) =>
        String(after) >= range.after && !put.has(sk);
      for (const { pk, sk } of before.filter(isWithin)) {
        await client.send(new DeleteCommand({ TableName: table, Key: { pk, sk } }));
      }
    },

    async ranges() {
      return (await query(firstName, lastName)).flatMap((row) => {
        const { data } = rangeRow.safeParse(row);
        if (!data) return [];
        const { hosts_after: after, at, hosts } = data;
        const upTo = String(row.sk).slice(keyOf('').sk.length);
        const packed: unknown = JSON.parse(gunzipSync(hosts).toString());
        return [{ after, at, upTo, hosts: unpack(packed) }];
      });
    },
  };
}

/** Several rows where the hosts are too different for one. */
export function measuredRows<Host extends Named>(
  measured: Measured<Host>,
  { after, upTo, at, hosts }: MeasuredRange<Host>,
): Row[] {
  const packed = gzipSync(JSON.stringify(measured.pack(hosts)));
  const row = { ...measured.keyOf(upTo), hosts_after: after, at, form, hosts: packed };
  if (packed.length <= bytesMax) return [row];
  const half = hosts.slice(0, Math.floor(hosts.length / 2));
  const middle = half.at(-1)?.hostname;
  // A host that is too large alone is left out: its cloud does not count as measured.
  if (middle === undefined) return [];
  return [
    ...measuredRows(measured, { after, upTo: middle, at, hosts: half }),
    ...measuredRows(measured, { after: middle, upTo, at, hosts: hosts.slice(half.length) }),
  ];
}
