// Rows of hosts. A host that has never reported has at most a lease or a presence.

import * as z from 'zod';
import type { NotOffered, StoredHost } from '#core/domain/host/host.ts';
import { attachTypes } from '#core/shapes/words.ts';
import { camelNamed, parseRow, texts } from './row-fields.ts';
import type { Row } from './rows.ts';

const storedHost = z.object({
  boot_id: z.string().exactOptional(),
  epoch: z.number().default(0),
  sequence: z.number().default(-1),
  agent_version: z.string().exactOptional(),
  attach_types: z.array(z.enum(attachTypes)).exactOptional(),
  last_report_at: z.string().exactOptional(),
  failed_drivers: z.array(z.string()).exactOptional(),
  clock: z.object({ ahead_ms: z.number(), within_ms: z.number() }).exactOptional(),
  last_received_ms: z.number().default(0),
  booted_at: z.string().exactOptional(),
  reprovisioning: z.literal(true).exactOptional(),
  wanted: texts.default({}),
  refused: z.record(z.string(), z.object({ digest: z.string(), reason: z.string() })).default({}),
  presence: z
    .object({
      is_connected: z.boolean(),
      session: z.string().exactOptional(),
      version: z.number().exactOptional(),
      certificate: z.string().exactOptional(),
      order: z.number().exactOptional(),
      at: z.string(),
    })
    .exactOptional(),
  failed_jobs: z
    .object({ count: z.number(), last_at: z.string(), reason: z.string() })
    .exactOptional(),
  earlier_boots: z
    .array(
      z.object({
        boot_id: z.string(),
        booted_at: z.string().exactOptional(),
        sequence: z.number(),
        replaced_at_ms: z.number(),
        replaced_by_sequence: z.number(),
      }),
    )
    .default([]),
  drain: z
    .object({
      by: z.string(),
      at: z.string(),
      request_id: z.string().exactOptional(),
      reason: z.string(),
      until: z.string().exactOptional(),
    })
    .exactOptional(),
  pace: z.object({ left: z.number(), at_ms: z.number() }).exactOptional(),
  conflict_since: z.string().exactOptional(),
  conflict_boots: z
    .array(
      z.object({
        boot_id: z.string(),
        booted_at: z.string().exactOptional(),
        sequence: z.number(),
        last_at: z.string(),
      }),
    )
    .default([]),
});

const storedLease = z.object({
  lease_holder: z.string().exactOptional(),
  lease_until: z.string().exactOptional(),
});

export function hostOf(hostname: string, row: Row = {}): StoredHost {
  const {
    last_received_ms: lastReceivedAtMs,
    reprovisioning,
    presence,
    clock,
    failed_jobs: failedJobs,
    earlier_boots: earlierBoots,
    drain,
    pace,
    conflict_since: since,
    conflict_boots: boots,
    ...fields
  } = parseRow(storedHost, row);
  return {
    hostname,
    ...camelNamed(fields),
    lastReceivedAtMs,
    isReprovisioning: reprovisioning === true,
    ...(presence && { presence: camelNamed(presence) }),
    ...(clock && { clock: camelNamed(clock) }),
    ...(failedJobs && { failedJobs: camelNamed(failedJobs) }),
    ...(drain && { drain: camelNamed(drain) }),
    ...(pace && { pace: camelNamed(pace) }),
    earlierBoots: earlierBoots.map(camelNamed),
    ...(since && { conflict: { since, boots: boots.map(camelNamed) } }),
  };
}

/** Who had the lease last, and when it ends if it was not given back; ISO 8601. */
export function leaseOf(row: Row = {}): {
  readonly holder?: string;
  readonly leasedUntil?: string;
} {
  const { lease_holder: holder, lease_until: leasedUntil } = parseRow(storedLease, row);
  return { ...(holder && { holder }), ...(leasedUntil && { leasedUntil }) };
}

const storedNotOffered = z.object({
  not_offered: z.array(z.object({ address: z.string(), driver: z.string(), reason: z.string() })),
});

/** @param row undefined while the host offers all that its settings name */
export function notOfferedOf(row: Row | undefined): readonly NotOffered[] {
  return row ? parseRow(storedNotOffered, row).not_offered : [];
}
