// Servers of a profile with alternatives: units of a pool, or else NICs.

import { toContent } from '#core/domain/profile/profile-changes.ts';
import { updateDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { type Act, asAdmin, deleteFirst, inTurn } from '#simulation/world/acts.ts';
import type { Profile } from '#simulation/world/openstack/nova.ts';
import { limit } from '#simulation/world/rules/limits/quotas.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;
const name = 'either';
const createProfile =
  (amount: string): Act =>
  async (world) => {
    const { cards, nics } = groupsOf(amount);
    await asAdmin(world, 'POST', '/device_profiles', [{ name, groups: cards }]);
    await updateDeviceProfile(world.depsFor(world.spawn('operator')), name, (profile) => ({
      ...toContent(profile),
      alternatives: [nics],
    }));
  };

const groupsOf = (amount: string) => ({
  cards: [{ 'resources:PGPU': amount, 'trait:CUSTOM_SIM_POOL': 'required' }],
  nics: [{ 'resources:CUSTOM_NIC': amount, 'trait:CUSTOM_SIM_NIC': 'required' }],
});

/** Nova has read the profile before its promises were stored. */
const bootUnpromised =
  (which: 'cards' | 'nics'): Act =>
  (world) =>
    world.nova.boot({ name, groups: groupsOf('1')[which] });

/** Nova reads the profile, and schedules by what it was given. */
const bootEither: Act = async (world) => {
  const path = `/device_profiles?name=${name}`;
  const { status, json } = await world.api(world.spawn('nova read'), 'GET', path);
  const [profile] = status === 200 ? (json.device_profiles as unknown as Profile[]) : [];
  if (profile) await world.nova.boot({ name, groups: profile.groups });
};

const about = ['pool'] as const;
const alternatives = { about, extra: 'pool' } as const;

export const alternativeOperations: Readonly<Record<string, Operation>> = {
  'boot a server with the first alternative': {
    ...alternatives,
    prepare: createProfile('2'),
    act: bootEither,
  },
  'boot a server with the second alternative': {
    ...alternatives,
    prepare: inTurn(createProfile('2'), 10_000, inTurn(bootEither, 100, bootEither)),
    act: bootEither,
  },
  'boot a server when units are free again': {
    ...alternatives,
    prepare: inTurn(createProfile('2'), 10_000, inTurn(bootEither, 100, bootEither)),
    act: inTurn(deleteFirst, 2 * minuteMs, bootEither),
  },
  'boot servers with alternatives that were not promised': {
    ...alternatives,
    prepare: createProfile('1'),
    act: inTurn(bootUnpromised('cards'), 10_000, bootUnpromised('nics')),
  },
  'boot a server whose project has no quota of the first alternative': {
    ...alternatives,
    prepare: inTurn(limit({ PGPU: 0 }), 0, inTurn(createProfile('1'), 1000, bootEither)),
    act: bootEither,
  },
};

export const concurrentAlternativeOperations = {
  'boot a server with an alternative': { about, act: bootEither },
} as const;
