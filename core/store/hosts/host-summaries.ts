// Rows of hosts' summaries; they are the rows by which hosts are listed.

import type { StoredHost } from '#core/domain/host/host.ts';
import type { HostSummary, SummaryPart } from '#core/domain/host/host-summary.ts';
import { snakeCase, toWire } from '#core/shapes/derive/case.ts';
import { hostSummary } from '#core/shapes/host.ts';
import { toHost } from '#core/store/rows/host-rows.ts';
import { fromRow } from '#core/store/rows/row-fields.ts';
import { hostKey, hostSummaryKey, notOfferedKey, type Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { replacing, transact, updateIf } from '#core/store/table/writes.ts';

const summaryPart = hostSummary.omit({ hostname: true, first_seen: true }).partial();

export interface HostSummaryStore {
  hostSummary(hostname: string): Promise<HostSummary | undefined>;
  /**
   * Writes a part of a host's summary; false if a later writer came first. A report or a
   * connection makes the summary if there is none.
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
      return row && toSummary(row);
    },

    putSummaryPart(hostname, { source, order, fields }, now) {
      const by = `${source}_order`;
      const isNotLater = `attribute_not_exists(${by}) OR ${by} <= :${by}`;
      // The first report or connection makes the summary; a host may be forgotten meanwhile.
      const isForExisting = source === 'placement';
      const removed = Object.keys(fields).map((name) => [snakeCase(name), undefined]);
      const set = replacing(
        {
          kind: 'host',
          uuid: hostname,
          hostname,
          [by]: order,
          ...Object.fromEntries(removed),
          ...toWire(summaryPart, fields),
        },
        'first_seen = if_not_exists(first_seen, :now)',
      );
      return updateIf(client, {
        TableName: table,
        Key: hostSummaryKey(hostname),
        UpdateExpression: set.expression,
        ConditionExpression: isForExisting
          ? `attribute_exists(pk) AND (${isNotLater})`
          : isNotLater,
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':now': now },
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
      return new Map(rows.map((row) => [readHostname(row), toHost(readHostname(row), row)]));
    },
  };
}

export function toSummary(row: Row): HostSummary {
  return fromRow(hostSummary, row);
}

/** The summary in a host's partition. */
export function summaryIn(rows: readonly Row[]): { readonly summary?: HostSummary } {
  const row = rows.find(({ sk }) => sk === hostSummaryKey('').sk);
  return row ? { summary: toSummary(row) } : {};
}

function readHostname({ pk }: Row): string {
  return String(pk).slice('HOST#'.length);
}
