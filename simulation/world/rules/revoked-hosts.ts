// A host whose certificates are revoked: its words count for nothing, no bind is accepted on it,
// and no work is sent to it until it is enrolled again. Its connection lasts, as that of a hostile
// host does.

import { markRevoked } from '#core/store/hosts/revocations.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import type { MemoryDatabase, RowChange } from '#simulation/database/memory-database.ts';
import type { Violate } from '#simulation/violation.ts';
import { type Act, killAgents } from '#simulation/world/acts.ts';
import { stage } from '#simulation/world/stage.ts';

/** A process that has read the host before may still act, and stall while it does. */
const heededWithinMs = 2 * 60_000;

/** What only the host's own words change. */
const said = ['boot_id', 'sequence', 'last_report_at'] as const;

function mark(revokedAt: (nowMs: number) => string | undefined): Act {
  return async ({ database, hosts, timeline }) => {
    const send = async (command: object & { readonly input: Readonly<Record<string, unknown>> }) =>
      database.execute(command.constructor.name, command.input);
    for (const { name } of hosts) {
      await markRevoked({ send } as never, stage, name, revokedAt(timeline.now()));
    }
  };
}

export const revokeHosts = mark((nowMs) => new Date(nowMs).toISOString());

const endRevocation = mark(() => undefined);

/** The agent starts with its new certificate. */
export const enrolHosts: Act = async (world) => {
  await endRevocation(world);
  void killAgents(world);
};

export function checkRevoked(
  { before, after }: RowChange,
  database: MemoryDatabase,
  nowMs: number,
  violate: Violate,
): void {
  if (!after) return;
  const key = String(after.sk ?? after.pk);
  if (key === 'HOST' && isRevoked(after, nowMs)) {
    const changed = said.find((name) => before?.[name] !== after[name]);
    if (changed) violate('I11', `${after.pk} is revoked, and its word changes ${changed}`);
  }
  if (key.startsWith('INSTANCE#')) {
    const isBegun = after.bind_id !== before?.bind_id;
    const isEnded = after.state === 'Bound' && before?.state !== 'Bound';
    if ((isBegun || isEnded) && isRevoked(hostRow(database, after.hostname), nowMs))
      violate('I11', `${key} is ${after.state} on ${after.hostname}, which is revoked`);
  }
  const isFreed = before?.release_id && !after.release_id && !after.quarantine;
  if (key.startsWith('HANDLE#') && after.type === 'MDEV' && isFreed) {
    const row = database
      .rows('inventory')
      .find(({ pk, sk }) => pk === after.pk && sk === 'DEPLOYABLE');
    const hostname = row && toDeployable(row).hostname;
    if (isRevoked(hostRow(database, hostname), nowMs))
      violate('I11', `${key} is free by the word of ${hostname}, which is revoked`);
  }
}

/** @param target a host's ARN, or a topic to it */
export function checkAsked(
  target: string,
  database: MemoryDatabase,
  nowMs: number,
  violate: Violate,
): void {
  const host = database
    .rows('inventory')
    .find(({ sk, hostname }) => sk === 'HOST' && target.includes(`${stage}:${hostname}`));
  if (isRevoked(host, nowMs)) violate('I11', `${host?.hostname} is revoked, and is asked for work`);
}

function hostRow(database: MemoryDatabase, hostname: unknown): Item | undefined {
  return database.rows('inventory').find((row) => row.sk === 'HOST' && row.hostname === hostname);
}

function isRevoked(host: Item | undefined, nowMs: number): boolean {
  const revokedAt = host?.revoked_at;
  return typeof revokedAt === 'string' && nowMs - Date.parse(revokedAt) > heededWithinMs;
}
