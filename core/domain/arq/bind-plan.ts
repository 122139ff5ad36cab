// Decides whether ARQs can be bound to the providers that Nova chose, and picks their handles.
// Every lasting failure is answered on the PATCH: only an error there makes Nova fail a build
// early. Pure.

import { shownAttributes } from '#core/domain/device/attribute.ts';
import type { AttachHandle, Deployable } from '#core/domain/device/device.ts';
import { isBeingProgrammed } from '#core/domain/device/device-health.ts';
import { type HandlePlace, toHandlePlace } from '#core/domain/device/handle-claim.ts';
import {
  ArqStateConflict,
  BindTargetMismatch,
  DeviceDisabled,
  DeviceOfferedTwice,
  DeviceOnHold,
  DeviceUnhealthy,
  ProviderNotFound,
} from '#core/domain/errors.ts';
import { HostInConflict } from '#core/domain/host/host-errors.ts';
import type { ArqUuid, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
import { isSizeTrait } from '#core/domain/pool/pool-sizes.ts';
import {
  attachTarget,
  type Group,
  groupResources,
  groupTraits,
  wantedImage,
} from '#core/domain/profile/device-profile.ts';
import { unmetAttribute } from '#core/domain/profile/group-attributes.ts';
import { withHyphens } from '#core/domain/uuid-form.ts';
import { type Arq, mayBecome } from './arq.ts';
import {
  attachedAs,
  type DeploymentTypes,
  leftAlone,
  typesRefused,
  typesTaken,
} from './attach-types.ts';
import { firstPossible } from './bind-alternatives.ts';
import { pickAll, type Request } from './pick-handles.ts';
import { handlesShareContent, isProgrammable } from './region-handles.ts';

/** The host and provider that Nova chose for one ARQ. */
export interface BindTarget {
  readonly arqUuid: ArqUuid;
  readonly hostname: string;
  readonly providerUuid: ProviderUuid;
  readonly instanceUuid: InstanceUuid;
}

export interface StoredProvider {
  readonly deployable: Deployable;
  /** All, or those that a reader needs; see core/store/inventory/provider-reads.ts. */
  readonly handles: readonly AttachHandle[];
}

export interface Claim {
  readonly arq: Arq;
  readonly target: BindTarget;
  readonly handle: AttachHandle;
  /** Where the handle is, for the history. */
  readonly place: HandlePlace;
}

export interface PlannedClaim extends Claim {
  /** Whether other instances can claim handles of the same region. */
  readonly isShared: boolean;
}

export interface BindFacts {
  readonly targets: readonly BindTarget[];
  readonly arqs: ReadonlyMap<ArqUuid, Arq>;
  readonly providers: ReadonlyMap<ProviderUuid, StoredProvider>;
  /** Those of the deployment; a host may have its own. */
  readonly attachTypes: DeploymentTypes;
  /** 0 ≤ x < 1. Handles are picked at random, so that parallel binds rarely pick the same one. */
  readonly random: () => number;
}

/**
 * One claim per target, in the targets' order.
 *
 * @throws DomainError for whatever lasts: another attempt would end the same.
 */
export function planBind(facts: BindFacts): PlannedClaim[] {
  const targets = new Map(facts.targets.map((target) => [target.arqUuid, target]));
  return firstPossible(facts.arqs, {
    check: (arq) => {
      const target = targets.get(arq.uuid);
      const provider = target && facts.providers.get(target.providerUuid);
      if (target && provider) checkTarget(arq, target, provider, facts.attachTypes);
    },
    plan: (arqs) => planAlternative({ ...facts, arqs }),
  });
}

function planAlternative(facts: BindFacts): PlannedClaim[] {
  const requests = facts.targets.map((target): Request => {
    const arq = facts.arqs.get(target.arqUuid);
    const provider = facts.providers.get(target.providerUuid);
    if (!provider || provider.deployable.isGone) throw new ProviderNotFound(target.providerUuid);
    if (!arq) throw new TypeError(`ARQ ${target.arqUuid} was not read`);
    if (!mayBecome(arq.state, 'BindStarted')) {
      throw new ArqStateConflict(arq.uuid, arq.state, 'bound');
    }
    checkTarget(arq, target, provider, facts.attachTypes);
    return { arq, target, provider };
  });
  const picked = pickAll(requests, facts.random);
  const claims = requests.map(({ arq, target, provider }): PlannedClaim => {
    const isShared = handlesShareContent(provider) && provider.handles.length > 1;
    const handle = picked.get(arq.uuid) as AttachHandle;
    return { arq, target, handle, place: toHandlePlace(provider.deployable), isShared };
  });
  checkMixed(facts, claims);
  return claims;
}

/**
 * Before release 34, Nova attaches nothing of a server that has one attach handle which it leaves
 * alone.
 *
 * @throws BindTargetMismatch
 */
function checkMixed({ providers, attachTypes }: BindFacts, claims: readonly PlannedClaim[]): void {
  const isLeftAlone = ({ arq, handle }: PlannedClaim) =>
    attachedAs(arq.group, handle.type) === leftAlone;
  const alone = claims.find(isLeftAlone);
  const attached = claims.find((claim) => !isLeftAlone(claim));
  const provider = alone && providers.get(alone.target.providerUuid);
  if (!alone || !attached || !provider) return;
  if (typesTaken(provider, attachTypes).includes('MDEV')) return;
  throw new BindTargetMismatch(
    `Accelerator request ${alone.arq.uuid} is not attached to the server, and ${attached.arq.uuid} is: ` +
      `on host ${alone.target.hostname}, whose Nova is not known to be release 34 or later, a server has accelerators of one kind only.`,
  );
}

/** Whether the host must do work before the claim is usable. */
export function needsHost({
  arq,
  handle,
  isShared,
}: Pick<PlannedClaim, 'arq' | 'handle' | 'isShared'>): boolean {
  return (
    handle.prepare === 'at-bind' ||
    handle.release !== undefined ||
    // Another bind may be programming the region; the host work checks that after the claim.
    isShared ||
    // The stored content of the region can be out of date, so the host checks it.
    wantedImage(arq.group) !== undefined
  );
}

/**
 * Whether the group asks for an image or function that the region is not known to hold. The id
 * behind an image's name is unknown here: Glance knows it.
 */
export function needsProgram(group: Group, deployable: Deployable): boolean {
  const image = wantedImage(group);
  if (!image) return false;
  const { bitstreamId, functionUuids = [] } = deployable;
  const held = { bitstream_id: bitstreamId ? [bitstreamId] : [], function_id: functionUuids };
  const heldIds = image.by in held ? held[image.by as keyof typeof held] : [];
  return !heldIds.some((uuid) => withHyphens(uuid) === withHyphens(image.value));
}

/** @throws DomainError for what lasts, whichever handle is taken */
export function checkTarget(
  arq: Arq,
  target: BindTarget,
  stored: StoredProvider,
  attachTypes: DeploymentTypes,
): void {
  const { deployable, handles } = stored;
  const provider = `Resource provider ${target.providerUuid}`;
  const request = `accelerator request ${arq.uuid}`;
  if (deployable.hostname !== target.hostname) {
    throw new BindTargetMismatch(`${provider} is not on host ${target.hostname}.`);
  }
  const classes = Object.keys(groupResources(arq.group));
  if (deployable.resourceClass === undefined || !classes.includes(deployable.resourceClass)) {
    throw new BindTargetMismatch(
      `${provider} has ${deployable.resourceClass ?? 'no inventory'}, but ${request} asks for ${classes.join(', ')}.`,
    );
  }
  const missing = groupTraits(arq.group, 'required').filter(
    (t) => !isSizeTrait(t) && !deployable.traits.includes(t),
  );
  if (missing.length > 0) {
    throw new BindTargetMismatch(
      `${provider} lacks ${missing.join(', ')}, which ${request} requires.`,
    );
  }
  const unwanted = groupTraits(arq.group, 'forbidden').filter((t) => deployable.traits.includes(t));
  if (unwanted.length > 0) {
    throw new BindTargetMismatch(
      `${provider} has ${unwanted.join(', ')}, which ${request} forbids.`,
    );
  }
  const unmet = unmetAttribute(arq.group, shownAttributes(deployable));
  if (unmet) throw new BindTargetMismatch(`${provider} has ${unmet} for ${request}.`);
  if (deployable.conflictSince) throw new HostInConflict(deployable.hostname);
  const { offeredTwice: other } = deployable;
  if (other !== undefined) throw new DeviceOfferedTwice(deployable.deviceUuid, other);
  const isDisabled = deployable.deviceStatus !== 'enabled' || isBeingProgrammed(deployable);
  if (isDisabled) throw new DeviceDisabled(deployable.deviceUuid);
  if (deployable.isOnHold) throw new DeviceOnHold(deployable.deviceUuid);
  const { deviceUuid, unhealthy } = deployable;
  if (unhealthy !== undefined) throw new DeviceUnhealthy(deviceUuid, unhealthy);
  const [refused] = typesRefused(stored, attachTypes);
  if (refused && attachTarget(arq.group) === 'VM') {
    const taken = typesTaken(stored, attachTypes).join(', ') || 'none';
    throw new BindTargetMismatch(
      `${provider} attaches as ${refused}, which the hypervisor of host ${deployable.hostname} does not take; it takes ${taken}.`,
    );
  }
  if (!needsProgram(arq.group, deployable)) return;
  if (!isProgrammable(stored)) {
    throw new BindTargetMismatch(
      `${provider} cannot be programmed: it is not a reconfigurable region.`,
    );
  }
  if (isUsedByOthers(handles, target.instanceUuid)) {
    throw new BindTargetMismatch(
      `${provider} cannot be programmed: another instance uses its region.`,
    );
  }
}

/** A program changes the region for every instance that holds a part of it. */
function isUsedByOthers(handles: readonly AttachHandle[], instanceUuid: InstanceUuid): boolean {
  return handles.some(({ claim }) => claim && claim.instanceUuid !== instanceUuid);
}
