// Repairs rows of a backup that contradict each other. An ARQ names its handle, and the handle
// its ARQ; an instance's row names its ARQs, and each ARQ its instance. A backup copies a running
// transaction row by row, so the two sides can differ:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html. Pure.

import { present } from '#core/shapes/derive/present.ts';
import {
  arqKey,
  handleKey,
  instanceKey,
  programKey,
  type Row,
  releaseKey,
} from '#core/store/rows/rows.ts';
import { isHandle } from './restored-rows.ts';

type Rows = ReadonlyMap<string, Row>;

/**
 * The backup's ARQs and instances, without ARQs that no instance's row names and without
 * instances that have no ARQ. A release reads the instance's row and then its ARQs, so it would
 * never end such a claim.
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
 * The backup's inventory, in which each handle has the claim of the ARQ that names it, or none,
 * and no release that does not exist: such a claim or release would never end. A wrong claim does
 * no harm, because all restored handles are withheld.
 */
export function restoreClaims(arqs: Rows, inventory: Rows): Map<string, Row> {
  const bound = new Set([...arqs.values()].map(({ pk }) => pk));
  const holders = Map.groupBy(
    [...arqs.values()].filter((row) => isArq(row) && row.handle_uuid !== undefined),
    ({ provider_uuid, handle_uuid }) =>
      toName(handleKey(String(provider_uuid), String(handle_uuid))),
  );
  const instances = new Map([...arqs.values()].map((row) => [row.pk, row]));
  const deployables = new Map(
    [...inventory.values()].filter(({ sk }) => sk === 'DEPLOYABLE').map((row) => [row.pk, row]),
  );
  return new Map(
    [...inventory].map(([key, row]) => {
      if (!isHandle(row)) return [key, row];
      // A restored handle is reserved as such.
      const { arq_uuid, instance_uuid, claim_facts, is_reserved, ...unclaimed } = row;
      const { release_id, quarantine, quarantined_at, ...handle } = unclaimed;
      const held = holders.get(toName(row)) ?? [];
      const holder = held.find(({ uuid }) => uuid === arq_uuid) ?? held[0];
      const awaited = [releaseKey(String(release_id)), programKey(String(release_id))];
      // Those of another holder would name another project in the history.
      const factsFor = (arq: Row) =>
        arq.uuid === arq_uuid && claim_facts !== undefined
          ? claim_facts
          : claimFacts(
              arq,
              instances.get(instanceKey(String(arq.instance_uuid)).pk),
              deployables.get(row.pk),
            );
      // The quarantine of an import waits for no work.
      const isAwaited = release_id === undefined || awaited.some(({ pk }) => bound.has(pk));
      const claimed = {
        ...handle,
        ...(holder && { arq_uuid: holder.uuid, instance_uuid: holder.instance_uuid }),
        ...(holder && { claim_facts: factsFor(holder) }),
        ...(isAwaited && present({ release_id, quarantine, quarantined_at })),
      };
      return [key, claimed];
    }),
  );
}

/** The claim is about as old as the bind of the instance. */
function claimFacts(arq: Row, instance: Row | undefined, deployable: Row | undefined) {
  if (!instance || !deployable) return undefined;
  const { hostname, device_uuid, resource_class } = deployable.deployable as Row;
  return {
    project_id: arq.project_id,
    profile_name: arq.profile_name,
    at: instance.started_at,
    hostname,
    device_uuid,
    ...present({ resource_class }),
  };
}

function isArq({ pk }: Row): boolean {
  return String(pk).startsWith(arqKey('').pk);
}

function toName({ pk, sk }: Row): string {
  return `${pk} ${sk}`;
}
