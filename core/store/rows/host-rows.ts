// Rows of hosts.

import type { NotOffered, StoredHost } from '#core/domain/host/host.ts';
import { present } from '#core/shapes/derive/present.ts';
import { storedHost, storedLease, storedNotOffered } from '#core/shapes/host.ts';
import { fromRow } from './row-fields.ts';
import type { Row } from './rows.ts';

export function toHost(hostname: string, row: Row = {}): StoredHost {
  const {
    lastReceivedMs: lastReceivedAtMs,
    reprovisioning,
    conflictSince: since,
    conflictBoots: boots,
    ...fields
  } = fromRow(storedHost, row);
  return {
    hostname,
    ...fields,
    lastReceivedAtMs,
    isReprovisioning: reprovisioning === true,
    ...present({ conflict: since === undefined ? undefined : { since, boots } }),
  };
}

/** Who had the lease last, and when it ends if it was not given back; ISO 8601. */
export function toLease(row: Row = {}): {
  readonly holder?: string;
  readonly leasedUntil?: string;
} {
  const { leaseHolder: holder, leaseUntil: leasedUntil } = fromRow(storedLease, row);
  return present({ holder, leasedUntil });
}

/** @param row undefined while the host offers all that its settings name */
export function toNotOffered(row: Row | undefined): readonly NotOffered[] {
  return row ? fromRow(storedNotOffered, row).notOffered : [];
}
