// Accelerator requests (ARQs), their states, and the bindings of instances.

import type { HandleRef } from '#core/domain/host-work/host-work.ts';
import type { HandleUuid } from '#core/domain/ids.ts';
import type { Group } from '#core/domain/profile/device-profile.ts';
import type { arqBinding, arqFields, instanceBinding } from '#core/shapes/arq.ts';
import type { handleFacts } from '#core/shapes/attach-handle.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { arqStates, type bindFailureCauses } from '#core/shapes/vocabulary/words.ts';

export type ArqState = (typeof arqStates)[number];

/** The states that the API shows: `unknown` while the host's agent is away. It is never stored. */
export const shownStates = [...arqStates, 'unknown'] as const;
export type ShownState = (typeof shownStates)[number];

/** Which states an ARQ may come from, by the state it goes to. */
export const comesFrom: Readonly<Record<ArqState, readonly ArqState[]>> = {
  Initial: [],
  BindStarted: ['Initial', 'Unbound'],
  // A claim that needs nothing from the host is Bound at once.
  Bound: ['Initial', 'Unbound', 'BindStarted', 'provisioning'],
  BindFailed: ['BindStarted', 'provisioning'],
  Unbound: ['BindStarted', 'Bound', 'BindFailed', 'provisioning'],
  // The host has rebooted and reprovisions the ARQ's device.
  provisioning: ['Bound'],
};

export function mayBecome(from: ArqState, to: ArqState): boolean {
  return comesFrom[to].includes(from);
}

/** The handle that an ARQ holds. */
export interface Attachment extends Shaped<typeof handleFacts> {
  readonly handleUuid: HandleUuid;
}

export interface ArqBinding extends Shaped<typeof arqBinding> {
  /** Undefined after the bind has failed: its handle is released then. */
  readonly attachment?: Attachment;
}

export interface Arq extends Shaped<typeof arqFields> {
  readonly deviceProfileName: string;
  /** A copy of the profile's group: the profile can be deleted while the ARQ exists. */
  readonly group: Group;
  /** Its group in each alternative of the profile, in order; a bind decides which one it has. */
  readonly alternatives?: readonly Group[];
  readonly binding?: ArqBinding;
}

/** The attach handles that these ARQs hold. */
export function heldHandles(arqs: Iterable<Arq>): HandleRef[] {
  return [...arqs].flatMap(({ binding }) => {
    const { providerUuid, attachment } = binding ?? {};
    return providerUuid && attachment ? [{ providerUuid, handleUuid: attachment.handleUuid }] : [];
  });
}

/** The binding of one instance: its ARQs are bound together, or fail together. */
export type InstanceBinding = Shaped<typeof instanceBinding>;

export type BindFailureCause = (typeof bindFailureCauses)[number];

export interface BindFailure {
  readonly cause: BindFailureCause;
  readonly reason: string;
}

/** Resolved means that waiting longer changes nothing: bound, or failed to bind. */
export function isResolved(state: ShownState): boolean {
  return state === 'Bound' || state === 'BindFailed';
}
