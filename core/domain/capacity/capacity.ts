// How many more servers with a device profile fit on a host, and what stops the others. Decides as
// a bind and Placement do: each group's accelerators come from one provider, and all groups of a
// server from one host. Pure.

import type { Arq } from '#core/domain/arq/arq.ts';
import { type DeploymentTypes, typesRefused } from '#core/domain/arq/attach-types.ts';
import {
  checkTarget,
  needsHost,
  needsProgram,
  type StoredProvider,
} from '#core/domain/arq/bind-plan.ts';
import { handlesShareContent, withheldHandles } from '#core/domain/arq/region-handles.ts';
import { shownAttributes } from '#core/domain/device/attribute.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { handleStateOf, isClaimable } from '#core/domain/device/handle-state.ts';
import {
  DeviceDisabled,
  DeviceOfferedTwice,
  DeviceOnHold,
  DeviceUnhealthy,
  DomainError,
} from '#core/domain/errors.ts';
import { HostInConflict } from '#core/domain/host/host-errors.ts';
import type { ArqUuid, InstanceUuid } from '#core/domain/ids.ts';
import { timesTogether } from '#core/domain/pool/choose-units.ts';
import { isPool } from '#core/domain/pool/wholes.ts';
import {
  arqCount,
  type Group,
  groupResources,
  groupTraits,
  sameLevelOf,
} from '#core/domain/profile/device-profile.ts';
import { unmetAttribute } from '#core/domain/profile/group-attributes.ts';
import { type Supply, serversThatFit } from './packing.ts';

/** Why attach handles of the requested classes serve no further server. */
export const obstacles = [
  'claimed',
  'cleaning',
  'quarantined',
  'restored',
  'gone',
  'trait',
  'attach-type',
  'attribute',
  'region',
  'disabled',
  'on-hold',
  'unhealthy',
  'host-conflict',
  'offered-twice',
  'host-away',
  'host-paused',
  /** Free units of a pool, enough for a server, and not together. */
  'apart',
  /** Free, but too few on one provider, or another group of the profile does not fit. */
  'remainder',
] as const;
export type Obstacle = (typeof obstacles)[number];

export interface CapacityHost {
  readonly hostname: string;
  /** With all their handles. */
  readonly providers: readonly StoredProvider[];
  /** No server starts there. */
  readonly stoppedBy?: 'host-conflict' | 'host-away';
  /** It takes no bind that it must prepare. */
  readonly isPaused: boolean;
}

export interface HostCapacity {
  readonly hostname: string;
  readonly fits: number;
  /** Obstacle → number of attach handles. */
  readonly stoppedBy: Readonly<Partial<Record<Obstacle, number>>>;
}

/** Undefined if the host has nothing of the requested classes. */
export function measureCapacity(
  groups: readonly Group[],
  host: CapacityHost,
  attachTypes: DeploymentTypes,
): HostCapacity | undefined {
  return capacityMeter(groups, attachTypes)(host);
}

/** Measures hosts one after the other; a provider that they share is looked at once. */
export function capacityMeter(
  groups: readonly Group[],
  attachTypes: DeploymentTypes,
): (host: CapacityHost) => HostCapacity | undefined {
  const classes = new Set(groups.flatMap((group) => Object.keys(groupResources(group))));
  const offersByState = new Map<string, Map<StoredProvider, Offer>>();
  const offersOf = (host: CapacityHost) => {
    const key = `${host.stoppedBy} ${host.isPaused}`;
    const offers = offersByState.get(key) ?? new Map<StoredProvider, Offer>();
    offersByState.set(key, offers);
    return offers;
  };
  return (host) => {
    const providers = host.providers.filter(
      ({ deployable: { resourceClass, isGone } }) =>
        !isGone && resourceClass !== undefined && classes.has(resourceClass),
    );
    if (providers.length === 0) return undefined;
    const offers = offersOf(host);
    const all = providers.map((provider) => {
      const offer = offers.get(provider) ?? describeOffer(groups, provider, host, attachTypes);
      offers.set(provider, offer);
      return offer;
    });
    return { hostname: host.hostname, ...sumOffers(groups, all) };
  };
}

function sumOffers(
  groups: readonly Group[],
  offers: readonly Offer[],
): Pick<HostCapacity, 'fits' | 'stoppedBy'> {
  const fits = serversThatFit(
    groups.map((group) => ({ size: arqCount(group) })),
    offers.map(({ supply }) => supply),
  );
  const stoppedBy: Partial<Record<Obstacle, number>> = {};
  const count = (obstacle: Obstacle, handles: number) => {
    if (handles > 0) stoppedBy[obstacle] = (stoppedBy[obstacle] ?? 0) + handles;
  };
  for (const { stopped } of offers) for (const obstacle of stopped) count(obstacle, 1);
  const free = offers.reduce((sum, { supply }) => sum + supply.free, 0);
  const perServer = groups.reduce((sum, group) => sum + arqCount(group), 0);
  count('remainder', free - fits * perServer);
  return { fits, stoppedBy };
}

interface Offer {
  readonly supply: Supply;
  /** One for each handle that serves no further server. */
  readonly stopped: readonly Obstacle[];
}

function describeOffer(
  groups: readonly Group[],
  provider: StoredProvider,
  { stoppedBy, isPaused }: CapacityHost,
  attachTypes: DeploymentTypes,
): Offer {
  const groupObstacles = groups.map((group) => groupObstacle(group, provider, attachTypes));
  const lasting = stoppedBy ?? commonObstacle(groupObstacles);
  const withheld = new Set(withheldHandles(provider));
  const stopped: Obstacle[] = [];
  const free = new Set<AttachHandle>();
  for (const handle of provider.handles) {
    const obstacle = lasting ?? handleObstacle(handle, withheld);
    const isForHost = isPaused && groups.some((group) => isPrepared(group, handle, provider));
    if (obstacle) stopped.push(obstacle);
    else if (isForHost) stopped.push('host-paused');
    else free.add(handle);
  }
  const most = groups.map((group, index) => {
    if (lasting || groupObstacles[index]) return 0;
    // After the first program for one server, no other server's image goes into the region.
    if (needsProgram(group, provider.deployable)) return 1;
    if (!isPool(provider.handles)) return Number.POSITIVE_INFINITY;
    const request = { count: arqCount(group), same: sameLevelOf(group) };
    return timesTogether(provider.handles, { ...request, isFree: (each) => free.has(each) });
  });
  const apart = countApart(groups, free.size, most);
  for (let count = 0; count < apart; count++) stopped.push('apart');
  return { supply: { free: free.size - apart, most }, stopped };
}

/** Where several groups compete for units, it is not known which keep them apart. */
function countApart(
  groups: readonly Group[],
  free: number,
  [times = 0]: readonly number[],
): number {
  const [group, another] = groups;
  const size = group && arqCount(group);
  if (!size || another || sameLevelOf(group) === undefined) return 0;
  return Math.floor(free / size) > times ? free - times * size : 0;
}

/** What keeps every group from the provider; undefined if one of them can have it. */
function commonObstacle(
  perGroup: readonly (Obstacle | 'class' | undefined)[],
): Obstacle | undefined {
  if (perGroup.includes(undefined)) return undefined;
  return perGroup.find((each) => each !== 'class') as Obstacle | undefined;
}

function handleObstacle(
  handle: AttachHandle,
  withheld: ReadonlySet<AttachHandle>,
): Obstacle | undefined {
  const state = handleStateOf(handle);
  if (isClaimable(handle)) return withheld.has(handle) ? 'quarantined' : undefined;
  return state === 'free' || state === 'releasing' ? undefined : state;
}

/** An ARQ of the group, as a bind would have it. */
function arqFor(group: Group): Arq {
  return {
    uuid: '' as ArqUuid,
    state: 'Initial',
    deviceProfileName: '',
    groupId: 0,
    group,
    projectId: '',
    createdAt: '',
  };
}

function isPrepared(group: Group, handle: AttachHandle, provider: StoredProvider): boolean {
  const isShared = handlesShareContent(provider) && provider.handles.length > 1;
  return needsHost({ arq: arqFor(group), handle, isShared });
}

/** Why a bind of the group to the provider is refused, whichever handle it takes. */
function groupObstacle(
  group: Group,
  provider: StoredProvider,
  attachTypes: DeploymentTypes,
): Obstacle | 'class' | undefined {
  const { deployable } = provider;
  // One provider has one class: Placement finds none for a group of two.
  const [resourceClass, ...others] = Object.keys(groupResources(group));
  if (others.length > 0 || resourceClass !== deployable.resourceClass) return 'class';
  const target = {
    arqUuid: '' as ArqUuid,
    hostname: deployable.hostname,
    providerUuid: deployable.providerUuid,
    instanceUuid: '' as InstanceUuid,
  };
  try {
    checkTarget(arqFor(group), target, provider, attachTypes);
    return undefined;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return toObstacle(error, group, provider, attachTypes);
  }
}

function toObstacle(
  error: DomainError,
  group: Group,
  provider: StoredProvider,
  attachTypes: DeploymentTypes,
): Obstacle {
  if (error instanceof HostInConflict) return 'host-conflict';
  if (error instanceof DeviceOfferedTwice) return 'offered-twice';
  if (error instanceof DeviceDisabled) return 'disabled';
  if (error instanceof DeviceOnHold) return 'on-hold';
  if (error instanceof DeviceUnhealthy) return 'unhealthy';
  const { traits } = provider.deployable;
  const lacks = groupTraits(group, 'required').some((trait) => !traits.includes(trait));
  const has = groupTraits(group, 'forbidden').some((trait) => traits.includes(trait));
  if (lacks || has) return 'trait';
  if (unmetAttribute(group, shownAttributes(provider.deployable))) return 'attribute';
  return typesRefused(provider, attachTypes).length > 0 ? 'attach-type' : 'region';
}
