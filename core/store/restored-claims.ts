// What a backup says twice: an ARQ names its handle, and the handle its ARQ; an instance's row names its
// ARQs, and they their instance. A transaction goes into backups row by row, so where one was under way at
// the moment they may differ:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html. Pure.

import { isHandle } from './restored-rows.ts';
import { arqKey, handleKey, instanceKey, programKey, type Row, releaseKey } from './rows.ts';

type Rows = ReadonlyMap<string, Row>;

/**
 * The backup's ARQs and instances, but for ARQs that no instance's row has and instances that have no ARQ:
 * what ends a claim begins at the one and goes by the other, so nobody would ever end theirs.
 */
export function withoutHalves(arqs: Rows): Map<string, Row> {
  const instances = new Map([...arqs.values()].map((row) => [row.pk, row]));
  const isBound = ({ uuid, bind_id, instance_uuid }: Row) => {
    const { bind_id: current, arq_uuids: held = [] } =
      instances.get(instanceKey(String(instance_uuid)).pk) ?? {};
    return current === bind_id && (held as unknown[]).includes(uuid);
  };
  const whole = [...arqs].filter(
    ([, row]) => !isArq(row) || row.bind_id === undefined || isBound(row),
  );
  const binds = new Set(whole.flatMap(([, row]) => (isArq(row) ? [row.bind_id] : [])));
  return new Map(whole.filter(([, row]) => row.arq_uuids === undefined || binds.has(row.bind_id)));
}

/**
 * The backup's inventory with each handle claimed by the ARQ that holds it, or by none, and waiting for no
 * release that is not there: nobody would ever end the claim, or the wait. What it gets wrong is withheld,
 * like all that is restored.
 */
export function withClaimsOf(arqs: Rows, inventory: Rows): Map<string, Row> {
  const present = new Set([...arqs.values()].map(({ pk }) => pk));
  const holders = Map.groupBy(
    [...arqs.values()].filter((row) => isArq(row) && row.handle_uuid !== undefined),
    ({ provider_uuid, handle_uuid }) =>
      nameOf(handleKey(String(provider_uuid), String(handle_uuid))),
  );
  return new Map(
    [...inventory].map(([key, row]) => {
      if (!isHandle(row)) return [key, row];
      const { arq_uuid, instance_uuid, release_id, quarantine, ...handle } = row;
      const held = holders.get(nameOf(row)) ?? [];
      const holder = held.find(({ uuid }) => uuid === arq_uuid) ?? held[0];
      const awaited = [releaseKey(String(release_id)), programKey(String(release_id))];
      const isAwaited = awaited.some(({ pk }) => present.has(pk));
      const claimed = {
        ...handle,
        ...(holder && { arq_uuid: holder.uuid, instance_uuid: holder.instance_uuid }),
        ...(isAwaited && { release_id, ...(quarantine !== undefined && { quarantine }) }),
      };
      return [key, claimed];
    }),
  );
}

function isArq({ pk }: Row): boolean {
  return String(pk).startsWith(arqKey('').pk);
}

function nameOf({ pk, sk }: Row): string {
  return `${pk} ${sk}`;
}
