// Hosts as the sweep has measured them: a row for each range of names, of which all are read at
// once. Hosts have few kinds of providers, so that a row stores each kind once, and is compressed.

import { gunzipSync, gzipSync } from 'node:zlib';
import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { CapacityHost } from '#core/domain/capacity/capacity.ts';
import {
  firstName,
  kindOf,
  lastName,
  type MeasuredRange,
  type ProviderKind,
  providerOf,
} from '#core/domain/capacity/measured-hosts.ts';
import { present } from '#core/shapes/derive/present.ts';
import { measuredHostsKey, type Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { queryAll } from '#core/store/table/reads.ts';

export interface MeasuredHostStore {
  /** Replaces the ranges that are within this one. */
  put(range: MeasuredRange): Promise<void>;
  /** In no order; some may be too old, and some may overlap. */
  ranges(): Promise<MeasuredRange[]>;
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

export function measuredHostStore(client: Documents, table: string): MeasuredHostStore {
  /** The rows whose last names are within these. */
  const query = (after: string, upTo: string) =>
    queryAll(client, {
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :after AND :up_to',
      ExpressionAttributeValues: {
        ':pk': measuredHostsKey('').pk,
        ':after': measuredHostsKey(after).sk,
        ':up_to': measuredHostsKey(upTo).sk,
      },
    });

  return {
    async put(range) {
      const before = await query(range.after, range.upTo);
      const rows = measuredRows(range);
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
        const upTo = String(row.sk).slice(measuredHostsKey('').sk.length);
        return [{ after, at, upTo, hosts: unpack(hosts) }];
      });
    },
  };
}

/** Several rows where the hosts are too different for one. */
export function measuredRows({ after, upTo, at, hosts }: MeasuredRange): Row[] {
  const packed = pack(hosts);
  const row = { ...measuredHostsKey(upTo), hosts_after: after, at, form, hosts: packed };
  if (packed.length <= bytesMax) return [row];
  const half = hosts.slice(0, Math.floor(hosts.length / 2));
  const middle = half.at(-1)?.hostname;
  // A host that is too large alone is left out: its cloud does not count as measured.
  if (middle === undefined) return [];
  return [
    ...measuredRows({ after, upTo: middle, at, hosts: half }),
    ...measuredRows({ after: middle, upTo, at, hosts: hosts.slice(half.length) }),
  ];
}

type PackedHost = readonly [
  hostname: string,
  kinds: readonly number[],
  isPaused: 0 | 1,
  stoppedBy?: CapacityHost['stoppedBy'],
];

function pack(hosts: readonly CapacityHost[]): Uint8Array {
  const kinds = new Map<string, number>();
  const indexOf = (provider: StoredProvider) => {
    const text = JSON.stringify(kindOf(provider));
    const index = kinds.get(text) ?? kinds.size;
    kinds.set(text, index);
    return index;
  };
  const packed = hosts.map(({ hostname, providers, isPaused, stoppedBy }): PackedHost => {
    const host = [hostname, providers.map(indexOf), isPaused ? 1 : 0] as const;
    return stoppedBy ? [...host, stoppedBy] : host;
  });
  return gzipSync(`{"kinds":[${[...kinds.keys()].join()}],"hosts":${JSON.stringify(packed)}}`);
}

function unpack(bytes: Uint8Array): CapacityHost[] {
  const { kinds, hosts } = JSON.parse(gunzipSync(bytes).toString()) as {
    kinds: ProviderKind[];
    hosts: PackedHost[];
  };
  const providers = kinds.map(providerOf);
  return hosts.map(([hostname, indexes, isPaused, stoppedBy]) => ({
    hostname,
    providers: indexes.flatMap((index) => providers[index] ?? []),
    isPaused: isPaused === 1,
    ...present({ stoppedBy }),
  }));
}
