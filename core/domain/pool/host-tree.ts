// The accelerators of a host as a tree of places: NUMA nodes, root ports and switches. Without
// zod, so that a page of the console may import it. Pure.

/** Where a unit is; what is not known is null or absent. */
export interface PlacedUnit {
  readonly numa?: number | null | undefined;
  readonly root?: string | null | undefined;
  readonly switch?: string | null | undefined;
}

export interface Place<Unit> {
  /** `NUMA node 0`; empty for the host itself. */
  readonly title: string;
  readonly below: readonly Place<Unit>[];
  /** Those whose nearer place is not known. */
  readonly units: readonly Unit[];
}

const levels: readonly { readonly title: string; readonly key: keyof PlacedUnit }[] = [
  { title: 'NUMA node', key: 'numa' },
  { title: 'root port', key: 'root' },
  { title: 'switch', key: 'switch' },
];

export function placesOf<Unit extends PlacedUnit>(units: readonly Unit[]): Place<Unit> {
  return placeOf('', units, levels);
}

function placeOf<Unit extends PlacedUnit>(
  title: string,
  units: readonly Unit[],
  [level, ...nearer]: typeof levels,
): Place<Unit> {
  if (!level) return { title, below: [], units };
  const places = [...Map.groupBy(units, (unit) => unit[level.key] ?? undefined)];
  const named = places.filter(([place]) => place !== undefined);
  const unknown = placeOf('', places.find(([place]) => place === undefined)?.[1] ?? [], nearer);
  const sorted = named.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  const below = sorted.map(([place, within]) => placeOf(`${level.title} ${place}`, within, nearer));
  return { title, below: [...below, ...unknown.below], units: unknown.units };
}

interface HeldUnit {
  readonly attach_handle_uuid?: string | undefined;
  readonly device_address?: string | undefined;
  readonly address?: string | null | undefined;
  readonly state?: string | undefined;
  readonly set?: string | null | undefined;
  readonly instance_uuid?: string | null | undefined;
}

/**
 * In the order of their addresses. Units of a device that no server holds are one entry: a card
 * can have thousands.
 */
export function entriesOf<Unit extends HeldUnit>(
  units: readonly Unit[],
): readonly { readonly first: Unit; readonly others: number }[] {
  const alike = Map.groupBy(units, (unit) =>
    unit.instance_uuid
      ? unit.attach_handle_uuid
      : [unit.device_address, unit.state, unit.set].join(),
  );
  const entries = [...alike.values()].flatMap((group) => {
    const [first] = group.toSorted(byAddress);
    return first ? [{ first, others: group.length - 1 }] : [];
  });
  return entries.toSorted((one, other) => byAddress(one.first, other.first));
}

function byAddress({ address: one }: HeldUnit, { address: other }: HeldUnit): number {
  if (one === other) return 0;
  return (one ?? '') < (other ?? '') ? -1 : 1;
}
