// Units of a pool that belong together: servers of one, two and three units, beside each other.

import { present } from '#core/shapes/derive/present.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import { Violation } from '#simulation/violation.ts';
import { type Act, asAdmin, deleteFirst, deleteLast, inTurn } from '#simulation/world/acts.ts';
import type { PoolUnits } from '#simulation/world/drivers/pool-driver.ts';
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

const replaced = '0000:2d:01.2';

function cardsWith(subsystem: string, confirmed_at?: string): PoolUnits['cards'] {
  const cards = [0, 1, 2, 3].map((index) => {
    const address = `0000:2d:01.${index}`;
    const isReplaced = address === replaced;
    const identity = `10de:0001 030200 10de:${isReplaced ? subsystem : '0001'}`;
    const since = '2026-01-01T00:00:00.000Z';
    return [address, { identity, since, ...(isReplaced && present({ confirmed_at })) }] as const;
  });
  return Object.fromEntries(cards);
}

/** What the agents of the hosts report of the units from now on. */
const showUnits =
  (units: PoolUnits): Act =>
  ({ hosts }) => {
    for (const host of hosts) {
      host.hardware.units = units;
      host.killAgent();
    }
  };

/** The hosts boot with new disks, and with another card in the pool. */
const replaceUnit: Act = ({ hosts }) => {
  for (const host of hosts) {
    host.hardware.units = { cards: cardsWith('0002'), unconfirmed: replaced };
    host.hardware.isDiskReplaced = true;
    host.reboot(2000);
  }
};

const confirmUnit = showUnits({ cards: cardsWith('0002', '2026-01-03T00:00:00.000Z') });

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
  'replace a card of a pool and the disk of its host': {
    ...pool,
    prepare: prepareWith(showUnits({ cards: cardsWith('0001') })),
    prepareMs: 2 * minuteMs,
    // After the report of the boot: a bind before it takes what was offered.
    act: inTurn(
      inTurn(replaceUnit, 9 * minuteMs, inTurn(bootWith(1), 0, bootWith(1))),
      14 * minuteMs,
      inTurn(confirmUnit, 22 * minuteMs, bootWith(1)),
    ),
    quiescenceMs: 56 * minuteMs,
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
