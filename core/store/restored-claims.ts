// What a backup says twice: an ARQ names its handle, and the handle its ARQ. A transaction goes into
// backups row by row, so where one was under way at the moment they may differ:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html. Pure.

import { isHandle } from './restored-rows.ts';
import { handleKey, type Row, releaseKey } from './rows.ts';

type Rows = ReadonlyMap<string, Row>;

/**
 * The backup's inventory with each handle claimed by the ARQ that holds it, or by none, and waiting for no
 * release that is not there: nobody would ever end the claim, or the wait. What it gets wrong is withheld,
 * like all that is restored.
 */
export function withClaimsOf(arqs: Rows, inventory: Rows): Map<string, Row> {
  const present = new Set([...arqs.values()].map(({ pk }) => pk));
  const holders = Map.groupBy(
    [...arqs.values()].filter((row) => row.kind === 'arq' && row.handle_uuid !== undefined),
    ({ provider_uuid, handle_uuid }) =>
      nameOf(handleKey(String(provider_uuid), String(handle_uuid))),
  );
  return new Map(
    [...inventory].map(([key, row]) => {
      if (!isHandle(row)) return [key, row];
      const { arq_uuid, instance_uuid, release_id, quarantine, ...handle } = row;
      const held = holders.get(nameOf(row)) ?? [];
      const holder = held.find(({ uuid }) => uuid === arq_uuid) ?? held[0];
      const isAwaited = release_id !== undefined && present.has(releaseKey(String(release_id)).pk);
      const claimed = {
        ...handle,
        ...(holder && { arq_uuid: holder.uuid, instance_uuid: holder.instance_uuid }),
        ...(isAwaited && { release_id, ...(quarantine !== undefined && { quarantine }) }),
      };
      return [key, claimed];
    }),
  );
}

function nameOf({ pk, sk }: Row): string {
  return `${pk} ${sk}`;
}
