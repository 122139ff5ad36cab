// Rules that each committed change must keep, whichever process wrote it.

import { toRelease } from '#core/store/rows/host-work-rows.ts';
import { cleaningGroupKey, hostKey } from '#core/store/rows/rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import type { MemoryDatabase, RowChange } from '#simulation/database/memory-database.ts';
import type { Violate } from '#simulation/violation.ts';
import { checkAlternative, checkPromise } from './alternatives.ts';
import { checkBoundedSets } from './limits/bounded-sets.ts';
import { checkTake } from './limits/quotas.ts';
import { checkRevision } from './profiles.ts';
import { checkRevoked } from './revoked-hosts.ts';

/**
 * An attribute that each row has, by prefix of its key. A row without it was made by a bare
 * update.
 */
const requiredAttributes: Readonly<Record<string, string>> = {
  'HANDLE#': 'type',
  BASELINES: 'changed_at',
  HOLDS: 'changed_at',
  'DEVICE#': 'device',
  DEPLOYABLE: 'deployable',
  HOST: 'hostname',
  'ARQ#': 'profile_name',
  'INSTANCE#': 'bind_id',
  'QUOTA#': 'limits',
  'UNBOUND#': 'arq_count',
  'RELEASE#': 'release',
  'PROGRAM#': 'program',
};

export function checkChange(
  change: RowChange,
  database: MemoryDatabase,
  nowMs: number,
  violate: Violate,
): void {
  const { before, after } = change;
  if (after) checkRequired(after, before, violate);
  if (before && after) checkUpdate(before, after, database, violate);
  if (before && after) checkTake(before, after, violate);
  if (after) checkBoundedSets(after, violate);
  if (after && !before) checkTurn(after, database, violate);
  checkRevision(change, violate);
  checkPromise(change, nowMs, violate);
  checkRevoked(change, database, nowMs, violate);
  if (after) checkAlternative(after, database, violate);
  if (after?.state === 'Bound' && before?.state !== 'Bound') checkBoot(after, database, violate);
  if (before && !after) checkDelete(before, violate);
  if (before && after && String(after.pk).startsWith('ARQ#'))
    checkClaim(before, after, database, violate);
}

function checkRequired(after: Item, before: Item | undefined, violate: Violate): void {
  const key = String(after.sk ?? after.pk);
  const attribute = Object.entries(requiredAttributes).find(([prefix]) =>
    key.startsWith(prefix),
  )?.[1];
  // A host that has not reported yet has a row with a lease only; a row may bar an ARQ's uuid.
  if (attribute === undefined || after[attribute] !== undefined) return;
  if (after.lease_holder || after.is_barred) return;
  if (before === undefined || before[attribute] !== undefined) {
    violate('I5', `row ${after.pk} ${after.sk ?? ''} lacks ${attribute}`);
  }
}

/** An attempt to clean again has a place in the failure domain that its host has named. */
function checkTurn(after: Item, database: MemoryDatabase, violate: Violate): void {
  if (!String(after.pk).startsWith('RELEASE#')) return;
  const { id, hostname, retries } = toRelease(after);
  if (retries === undefined) return;
  const rows = database.rows('inventory');
  const host = rows.find(({ pk, sk }) => pk === hostKey(hostname).pk && sk === 'HOST');
  const groups = rows.filter(({ pk }) => pk === cleaningGroupKey('').pk);
  const hasPlace = groups.some(({ running }) =>
    (running as readonly { readonly id: string }[]).some((each) => each.id === id),
  );
  if (host?.failure_domain && !hasPlace) violate('I10', `release ${id} is tried out of turn`);
}

function checkUpdate(before: Item, after: Item, database: MemoryDatabase, violate: Violate): void {
  const [was, is] = [before.release_id, after.release_id];
  // A release may be replaced by the end of a claim that waited behind it. A retry replaces a
  // release that has failed, or host work that began before the host's last boot.
  const isRetry = before.quarantine !== undefined && after.quarantine === before.quarantine;
  const isReplaced = was !== undefined && is !== undefined && was !== is && !before.arq_uuid;
  const isAfterBoot = isFromEarlierBoot(String(was), database) || isResumed(String(is), database);
  if (isReplaced && !isRetry && !isAfterBoot) {
    violate('I4', `handle ${after.sk} drops release ${was} before it is confirmed`);
  }
  if (!was && is && before.arq_uuid && after.arq_uuid) {
    violate('I4', `release ${is} would clean handle ${after.sk}, which is in use`);
  }
  if (after.sk === 'HOST' && after.conflict_boots && !after.conflict_since) {
    violate('I5', `${after.pk} lists boots of an identity conflict that has ended`);
  }
  if (after.restored_at && is && !was && !before.arq_uuid) {
    violate('I4', `handle ${after.sk} is programmed while its holder is unknown`);
  }
  if (after.sk === 'HOST' && Number(after.epoch) < Number(before.epoch)) {
    violate('I5', `${after.pk} goes back to an earlier boot`);
  }
}

/** The agent refuses its job, so the host was asked again. */
function isFromEarlierBoot(releaseId: string, database: MemoryDatabase): boolean {
  const row = database.rows('arqs').find(({ pk }) => pk === `RELEASE#${releaseId}`);
  const { hostname, started_at } = (row?.release ?? {}) as Record<string, string>;
  const host = database
    .rows('inventory')
    .find((each) => each.sk === 'HOST' && each.hostname === hostname);
  return started_at !== undefined && String(host?.booted_at ?? '') > started_at;
}

/** A boot gives the program of a component another id. */
function isResumed(programId: string, database: MemoryDatabase): boolean {
  const row = database.rows('arqs').find(({ pk }) => pk === `PROGRAM#${programId}`);
  const { hostname, component } = (row?.program ?? {}) as {
    readonly hostname?: string;
    readonly component?: Readonly<Record<'name' | 'device_uuid' | 'note_id', string>>;
  };
  const rows = database.rows('inventory').filter(({ pk }) => pk === `HOST#${hostname}`);
  const host = rows.find(({ sk }) => sk === 'HOST');
  const device = rows.find(({ sk }) => sk === `DEVICE#${component?.device_uuid}`);
  const note = device?.[`component#${component?.name}`] as { id: string; at: string } | undefined;
  return note?.id === component?.note_id && String(host?.booted_at ?? '') > String(note?.at);
}

/** What a host prepares is lost with the boot that prepared it. */
function checkBoot(after: Item, database: MemoryDatabase, violate: Violate): void {
  if (!after.instance_uuid || !after.boot_id || !after.resolved_at) return;
  const host = database
    .rows('inventory')
    .find(({ sk, hostname }) => sk === 'HOST' && hostname === after.hostname);
  const isOver = host?.boot_id !== after.boot_id;
  if (isOver) violate('L2', `instance ${after.instance_uuid} is bound by a boot that has ended`);
}

/** A row of the inventory is deleted only after it was marked as gone. */
function checkDelete(before: Item, violate: Violate): void {
  const key = String(before.sk);
  const nested = (before.device ?? before.deployable) as { is_gone?: boolean } | undefined;
  const isGone = key.startsWith('HANDLE#') ? before.is_gone === true : nested?.is_gone === true;
  const isInventory = key.startsWith('HANDLE#') || nested !== undefined;
  if (isInventory && !isGone) violate('I2', `${key} is deleted while its device is present`);
}

/**
 * A handle that is gone, in quarantine or restored is not claimed, and not used before it is
 * clean.
 */
function checkClaim(before: Item, after: Item, database: MemoryDatabase, violate: Violate): void {
  const isClaim = before.bind_id === undefined && after.bind_id !== undefined;
  if (!isClaim) return;
  const handle = database.rows('inventory').find(({ sk }) => sk === `HANDLE#${after.handle_uuid}`);
  if (!handle || handle.is_gone || handle.quarantine || handle.restored_at) {
    violate('I2', `ARQ ${after.uuid} claims handle ${after.handle_uuid}, which is not available`);
  }
  if (after.state === 'Bound' && handle?.release_id) {
    violate('I4', `ARQ ${after.uuid} is Bound before release ${handle.release_id} is confirmed`);
  }
}

/** The key of the row and its changed attributes. */
export function differences({ before = {}, after = {} }: RowChange): string {
  const { pk, sk = '' } = { ...before, ...after };
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [was, is] = [JSON.stringify(before[name]), JSON.stringify(after[name])];
    return was === is || name === 'pk' || name === 'sk' ? [] : [`${name}: ${was} → ${is}`];
  });
  return `${pk} ${sk} ${changed.join(', ')}`;
}
