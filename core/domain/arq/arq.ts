// Accelerator requests (ARQs), their states, and the bindings of instances.

import type { AttachType, HandleCare } from '#core/domain/device/device.ts';
import type { HandleRef } from '#core/domain/host-work/host-work.ts';
import type { ArqUuid, BindId, HandleUuid, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
import type { Group } from '#core/domain/profile/device-profile.ts';

/** As the API shows them. Cyborg's common/constants.py, and `provisioning` of the vGPU spec. */
export const arqStates = [
  'Initial',
  'BindStarted',
  'Bound',
  'BindFailed',
  'Unbound',
  'provisioning',
] as const;
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

/** What Nova attaches: `info` holds e.g. domain, bus, device, function. */
export interface Attachment extends HandleCare {
  readonly handleUuid: HandleUuid;
  readonly type: AttachType;
  readonly info: Readonly<Record<string, string>>;
}

/** Set by a bind, removed by an unbind. */
export interface ArqBinding {
  readonly bindId: BindId;
  readonly instanceUuid: InstanceUuid;
  readonly hostname: string;
  readonly providerUuid: ProviderUuid;
  /** Undefined after the bind has failed: its handle is released then. */
  readonly attachment?: Attachment;
}

export interface Arq {
  readonly uuid: ArqUuid;
  readonly state: ArqState;
  readonly deviceProfileName: string;
  /** Index of the group in the profile; Nova matches ARQs to resource providers by it. */
  readonly groupId: number;
  /** A copy of the profile's group: the profile can be deleted while the ARQ exists. */
  readonly group: Group;
  readonly projectId: string;
  readonly binding?: ArqBinding;
  /** Why the last bind failed. */
  readonly failure?: string;
  /** Who created it, as in a {@link ChangeNote}, and by which request. */
  readonly createdBy?: string;
  readonly requestId?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt?: string;
}

/** The attach handles that these ARQs hold. */
export function heldHandles(arqs: Iterable<Arq>): HandleRef[] {
  return [...arqs].flatMap(({ binding }) => {
    const { providerUuid, attachment } = binding ?? {};
    return providerUuid && attachment ? [{ providerUuid, handleUuid: attachment.handleUuid }] : [];
  });
}

export const bindingStates = ['BindStarted', 'Bound', 'BindFailed', 'provisioning'] as const;

/** The binding of one instance: its ARQs are bound together, or fail together. */
export interface InstanceBinding {
  readonly instanceUuid: InstanceUuid;
  /** Random for each bind, so that late events of an earlier bind are recognized. */
  readonly bindId: BindId;
  readonly state: (typeof bindingStates)[number];
  readonly hostname: string;
  readonly projectId: string;
  readonly arqUuids: readonly ArqUuid[];
  /** The device profile of all of its ARQs; undefined where they are of several. */
  readonly profileName?: string;
  readonly startedAt: string;
  /**
   * The job whose end resolves the binding; absent for a bind's own job, whose uuid is the bind
   * id.
   */
  readonly jobUuid?: string;
  /** The host's boot for which its job ran; undefined if no job was needed. */
  readonly bootId?: string;
  /** The request that asked for it. */
  readonly requestId?: string;
  readonly failure?: string;
  readonly failureCause?: BindFailureCause;
  /**
   * Of a bind that its host makes: a list of the ARQs has been answered before the bind ended, so
   * nova-compute may wait for its event.
   */
  readonly isAwaited?: boolean;
  /** When it was last bound or failed by a job or a deadline; ISO 8601. */
  readonly resolvedAt?: string;
  /** It was made by another service, and its server has used it since before the import. */
  readonly isImported?: true;
  /** Since when Nova has no host for the instance, or no longer has the instance; ISO 8601. */
  readonly unusedSince?: string;
}

/** Why binds fail, as metrics count it; `failure` has the details. */
export const bindFailureCauses = [
  /** The host did not answer in time. */
  'deadline',
  /** The host's job failed. */
  'host',
  /** The host rebooted during the bind, too late for the bind to start again. */
  'boot',
  /** The host has never reported. */
  'agent',
  /** The host no longer has the device, or its report lacks a needed field. */
  'device',
  /** The device was not cleaned up after its previous holder. */
  'quarantine',
  /** The image does not exist or cannot be used. */
  'image',
  /** The work does not fit into one job. */
  'size',
] as const;
export type BindFailureCause = (typeof bindFailureCauses)[number];

export interface BindFailure {
  readonly cause: BindFailureCause;
  readonly reason: string;
}

/** Resolved means that waiting longer changes nothing: bound, or failed to bind. */
export function isResolved(state: ShownState): boolean {
  return state === 'Bound' || state === 'BindFailed';
}
