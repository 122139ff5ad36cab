// Units of a pool that belong together: servers of one, two and three units, beside each other.

import { toHandle } from '#core/store/rows/handle-rows.ts';
import { Violation } from '#simulation/violation.ts';
import { type Act, asAdmin, deleteFirst, deleteLast, inTurn } from '#simulation/world/acts.ts';
import type { Profile } from '#simulation/world/openstack/nova.ts';
import type { World } from '#simulation/world/world.ts';
import { alternativeOperations, concurrentAlternativeOperations } from './alternatives.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;

function profileOf(amount: number): Profile {
  return {
    name: `pool-${amount}`,
    groups: [{ 'resources:PGPU': String(amount), 'trait:CUSTOM_SIM_POOL': 'required' }],
  };
}

const bootWith =
  (amount: number): Act =>
  (world) =>
    world.nova.boot(profileOf(amount));
const createProfiles: Act = async (world) => {
  for (const amount of [1, 2, 3]) {
    await asAdmin(world, 'POST', '/device_profiles', [profileOf(amount)]);
  }
};
const prepareWith = (then: Act): Act => inTurn(createProfiles, 10_000, then);

const pool = { about: ['pool'], extra: 'pool' } as const;

export const poolOperations: Readonly<Record<string, Operation>> = {
  'bind three units of a pool': { ...pool, prepare: createProfiles, act: bootWith(3) },
  'release units of a pool and bind others': {
    ...pool,
    prepare: prepareWith(inTurn(bootWith(2), 0, bootWith(2))),
    act: inTurn(deleteFirst, 100, bootWith(2)),
  },
  'bind a unit of a pool that was full': {
    ...pool,
    prepare: prepareWith(inTurn(bootWith(3), 100, bootWith(1))),
    act: inTurn(deleteLast, 2 * minuteMs, bootWith(1)),
  },
  ...alternativeOperations,
};

export const concurrentPoolOperations = {
  'bind two units of the pool': { about: ['pool'], act: bootWith(2) },
  'delete the last server of the pool': { about: ['pool'], act: deleteLast },
  ...concurrentAlternativeOperations,
} as const;

/** No two servers have parts of one set. */
export function checkSets({ database }: World): void {
  const handles = database.rows('inventory').flatMap((row) => {
    const handle = String(row.sk).startsWith('HANDLE#') ? toHandle(row) : undefined;
    return handle?.locality?.set && handle.claim ? [handle] : [];
  });
  for (const [set, held] of Map.groupBy(handles, ({ locality }) => locality?.set)) {
    const holders = new Set(held.map(({ claim }) => claim?.instanceUuid));
    if (holders.size > 1) {
      throw new Violation('I1', `set ${set} is held by servers ${[...holders].join(' and ')}`);
    }
  }
}
