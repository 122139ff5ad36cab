// What each committed change must respect, whoever made it.

import type { Item } from './database/expressions.ts';
import type { MemoryDatabase, RowChange } from './database/memory-database.ts';
import type { Violate } from './violation.ts';

/** By the beginning of a key: what each such row has. A write never makes a row out of nothing. */
const essence: Readonly<Record<string, string>> = {
  'HANDLE#': 'type',
  'DEVICE#': 'device',
  DEPLOYABLE: 'deployable',
  HOST: 'hostname',
  'ARQ#': 'profile_name',
  'INSTANCE#': 'bind_id',
  'RELEASE#': 'release',
  'PROGRAM#': 'program',
};

export function checkChange(
  { before, after }: RowChange,
  database: MemoryDatabase,
  violate: Violate,
): void {
  if (after) checkEssence(after, before, violate);
  if (before && after) checkUpdate(before, after, violate);
  if (after?.state === 'Bound' && before?.state !== 'Bound') checkBoot(after, database, violate);
  if (before && !after) checkDelete(before, violate);
  if (before && after && String(after.pk).startsWith('ARQ#'))
    checkClaim(before, after, database, violate);
}

function checkEssence(after: Item, before: Item | undefined, violate: Violate): void {
  const key = String(after.sk ?? after.pk);
  const wanted = Object.entries(essence).find(([prefix]) => key.startsWith(prefix))?.[1];
  // The lease of a host that has never reported is all there is of it.
  if (wanted === undefined || after[wanted] !== undefined || after.lease_holder) return;
  if (before === undefined || before[wanted] !== undefined) {
    violate('I5', `row ${after.pk} ${after.sk ?? ''} lacks ${wanted}`);
  }
}

function checkUpdate(before: Item, after: Item, violate: Violate): void {
  const [was, is] = [before.release_id, after.release_id];
  // The end of a claim that waited behind it takes the place of a release, and another attempt that of
  // one that has failed.
  const isRetry = before.quarantine !== undefined && after.quarantine === before.quarantine;
  if (was && is && was !== is && !before.arq_uuid && !isRetry) {
    violate('I4', `handle ${after.sk} no longer waits for release ${was}`);
  }
  if (!was && is && before.arq_uuid && after.arq_uuid) {
    violate('I4', `handle ${after.sk} is in use, and release ${is} would clean it up`);
  }
  if (after.sk === 'HOST' && after.conflict_boots && !after.conflict_since) {
    violate('I5', `${after.pk} lists the boots of a conflict that is over`);
  }
  if (after.restored_at && is && !was && !before.arq_uuid) {
    violate('I4', `handle ${after.sk} is programmed, and whose it is is not known`);
  }
  if (after.sk === 'HOST' && Number(after.epoch) < Number(before.epoch)) {
    violate('I5', `${after.pk} is as an earlier boot has it`);
  }
}

/** What a host has made ready is there in that boot only. */
function checkBoot(after: Item, database: MemoryDatabase, violate: Violate): void {
  if (!after.instance_uuid || !after.boot_id || !after.resolved_at) return;
  const host = database
    .rows('inventory')
    .find(({ sk, hostname }) => sk === 'HOST' && hostname === after.hostname);
  const isOver = host?.boot_id !== after.boot_id;
  if (isOver) violate('L2', `instance ${after.instance_uuid} is bound by a boot that is over`);
}

/** What is offered stays until it is marked as gone. */
function checkDelete(before: Item, violate: Violate): void {
  const key = String(before.sk);
  const nested = (before.device ?? before.deployable) as { is_gone?: boolean } | undefined;
  const isGone = key.startsWith('HANDLE#') ? before.is_gone === true : nested?.is_gone === true;
  const isInventory = key.startsWith('HANDLE#') || nested !== undefined;
  if (isInventory && !isGone) violate('I2', `${key} is deleted, and its device is there`);
}

/** Nothing is claimed that is gone or in quarantine, nor used before it is clean. */
function checkClaim(before: Item, after: Item, database: MemoryDatabase, violate: Violate): void {
  const isClaim = before.bind_id === undefined && after.bind_id !== undefined;
  if (!isClaim) return;
  const handle = database.rows('inventory').find(({ sk }) => sk === `HANDLE#${after.handle_uuid}`);
  if (!handle || handle.is_gone || handle.quarantine || handle.restored_at) {
    violate('I2', `ARQ ${after.uuid} claims handle ${after.handle_uuid}, which is not to be had`);
  }
  if (after.state === 'Bound' && handle?.release_id) {
    violate('I4', `ARQ ${after.uuid} is Bound before release ${handle.release_id} is confirmed`);
  }
}
