// Rows of hosts' summaries; they are the rows by which hosts are listed.

import * as z from 'zod';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { HostSummary, SummaryFields, SummaryPart } from '#core/domain/host/host-summary.ts';
import { hostOf } from '#core/store/rows/host-rows.ts';
import { camelNamed, parseRow, snakeNamed } from '#core/store/rows/row-fields.ts';
import { hostKey, hostSummaryKey, notOfferedKey, type Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { setting, transact, updateIf } from '#core/store/table/writes.ts';

const storedSummary = z.object({
  hostname: z.string(),
  first_seen: z.string(),
  agent_version: z.string().exactOptional(),
  boot_id: z.string().exactOptional(),
  booted_at: z.string().exactOptional(),
  presence: z.object({ is_connected: z.boolean(), since: z.string() }).exactOptional(),
  conflict_since: z.string().exactOptional(),
  clock_ahead_seconds: z.number().exactOptional(),
  devices: z.number().default(0),
  not_offered: z.number().default(0),
});

export interface HostSummaryStore {
  hostSummary(hostname: string): Promise<HostSummary | undefined>;
  /**
   * Writes a part of a host's summary, and makes the summary if there is none; false if a later
   * writer came first.
   */
  putSummaryPart(hostname: string, part: SummaryPart, now: string): Promise<boolean>;
  /**
   * Deletes the rows of a host, but not those of its devices. False if another consumer has had
   * the lease since.
   */
  deleteHost(hostname: string, holder: string): Promise<boolean>;
  /** The hosts that exist, without their devices. */
  hostsAlone(hostnames: readonly string[]): Promise<Map<string, StoredHost>>;
}

export function hostSummaryStore(client: Documents, table: string): HostSummaryStore {
  return {
    async hostSummary(hostname) {
      const row = await getRow(client, table, hostSummaryKey(hostname));
      return row && summaryOf(row);
    },

    putSummaryPart(hostname, { of, order, fields }, now) {
      const set = setting({ kind: 'host', uuid: hostname, hostname, ...namedRows(fields) });
      const absent = Object.keys(fields).filter(
        (field) => fields[field as keyof SummaryFields] === undefined,
      );
      const remove = absent.map((field) => Object.keys(snakeNamed({ [field]: 0 }))[0]);
      const by = `${of}_order`;
      return updateIf(client, {
        TableName: table,
        Key: hostSummaryKey(hostname),
        UpdateExpression:
          `${set.expression}, ${by} = :order, first_seen = if_not_exists(first_seen, :now)` +
          (remove.length > 0 ? ` REMOVE ${remove.join(', ')}` : ''),
        ConditionExpression: `attribute_not_exists(${by}) OR ${by} <= :order`,
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':order': order, ':now': now },
      });
    },

    async deleteHost(hostname, holder) {
      const others = [hostSummaryKey(hostname), notOfferedKey(hostname)];
      const outcome = await transact(client, [
        {
          Delete: {
            TableName: table,
            Key: hostKey(hostname),
            ConditionExpression: 'lease_holder = :holder',
            ExpressionAttributeValues: { ':holder': holder },
          },
        },
        ...others.map((Key) => ({ Delete: { TableName: table, Key } })),
      ]);
      return outcome === 'done';
    },

    async hostsAlone(hostnames) {
      const rows = await getRows(client, table, hostnames.map(hostKey));
      return new Map(rows.map((row) => [hostnameOf(row), hostOf(hostnameOf(row), row)]));
    },
  };
}

export function summaryOf(row: Row): HostSummary {
  const { presence, ...fields } = parseRow(storedSummary, row);
  return { ...camelNamed(fields), ...(presence && { presence: camelNamed(presence) }) };
}

/** The summary in a host's partition. */
export function summaryIn(rows: readonly Row[]): { readonly summary?: HostSummary } {
  const row = rows.find(({ sk }) => sk === hostSummaryKey('').sk);
  return row ? { summary: summaryOf(row) } : {};
}

function namedRows({ presence, ...fields }: SummaryFields): Row {
  return { ...snakeNamed(fields), ...(presence && { presence: snakeNamed(presence) }) };
}

function hostnameOf({ pk }: Row): string {
  return String(pk).slice('HOST#'.length);
}
