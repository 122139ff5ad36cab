// Accelerator requests: their states, and what of them an instance sees.

import type { AttachType } from './device.ts';
import type { Group } from './device-profile.ts';
import type { ArqUuid, BindId, HandleUuid, InstanceUuid, ProviderUuid, ReleaseId } from './ids.ts';

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

/** What the API shows: `unknown` while the agent that would know is gone. It is never stored. */
export type ShownState = ArqState | 'unknown';

/** Which states an ARQ may come from, by the state it goes to. */
export const comesFrom: Readonly<Record<ArqState, readonly ArqState[]>> = {
  Initial: [],
  BindStarted: ['Initial', 'Unbound'],
  // A claim that needs nothing from the host is Bound at once.
  Bound: ['Initial', 'Unbound', 'BindStarted', 'provisioning'],
  BindFailed: ['BindStarted', 'provisioning'],
  Unbound: ['BindStarted', 'Bound', 'BindFailed', 'provisioning'],
  // The host has booted anew: what was made there for the ARQ is being made again.
  provisioning: ['Bound'],
};

export function mayBecome(from: ArqState, to: ArqState): boolean {
  return comesFrom[to].includes(from);
}

/** What Nova attaches: `info` holds e.g. domain, bus, device, function. */
export interface Attachment {
  readonly handleUuid: HandleUuid;
  readonly type: AttachType;
  readonly info: Readonly<Record<string, string>>;
}

/** What a bind gives an ARQ, and an unbind takes away again. */
export interface ArqBinding {
  readonly bindId: BindId;
  readonly instanceUuid: InstanceUuid;
  readonly hostname: string;
  readonly providerUuid: ProviderUuid;
  /** Undefined once the bind has failed: its handle was taken back. */
  readonly attachment?: Attachment;
}

export interface Arq {
  readonly uuid: ArqUuid;
  readonly state: ArqState;
  readonly deviceProfileName: string;
  /** Index of the group in the profile; Nova matches ARQs to resource providers by it. */
  readonly groupId: number;
  /** A copy: what was asked for stays true when the profile is deleted. */
  readonly group: Group;
  readonly projectId: string;
  readonly binding?: ArqBinding;
  /** Why the last bind failed. */
  readonly failure?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt?: string;
}

export const bindingStates = ['BindStarted', 'Bound', 'BindFailed', 'provisioning'] as const;

/** What is bound for one instance, as one: binds succeed or fail together. */
export interface InstanceBinding {
  readonly instanceUuid: InstanceUuid;
  /** Drawn anew for each bind, so that what follows from an earlier one can be told apart. */
  readonly bindId: BindId;
  readonly state: (typeof bindingStates)[number];
  readonly hostname: string;
  readonly projectId: string;
  readonly arqUuids: readonly ArqUuid[];
  readonly startedAt: string;
  /** Whose end decides it while it is unresolved: the job's uuid. A bind's own is the bind's id. */
  readonly jobUuid?: string;
  /** The boot of the host under which it was made ready; undefined where nothing had to be. */
  readonly bootId?: string;
  /** The request that asked for it. */
  readonly requestId?: string;
  readonly failure?: string;
  readonly failureCause?: BindFailureCause;
  /** When it was last bound or failed, where that took time; ISO 8601. */
  readonly resolvedAt?: string;
  /** Since when Nova has the instance on no host, or knows no such instance; ISO 8601. */
  readonly unusedSince?: string;
}

/** Why binds fail, as far as it can be counted; the failure's sentence says more. */
export const bindFailureCauses = [
  /** The host did not answer in time. */
  'deadline',
  /** The host's job failed: it could not make it ready. */
  'host',
  /** The host has booted meanwhile. */
  'boot',
  /** The host has never reported. */
  'agent',
  /** The host no longer has the device, or says too little of it. */
  'device',
  /** Something of the last holder is left on the device. */
  'quarantine',
  /** The image is not there, or cannot be used. */
  'image',
  /** More than one job can carry. */
  'size',
] as const;
export type BindFailureCause = (typeof bindFailureCauses)[number];

export interface BindFailure {
  readonly cause: BindFailureCause;
  readonly reason: string;
}

/** For which instances a host works, and the boot that the work was decided for. */
export interface JobNote {
  readonly instances: readonly string[];
  readonly bootId: string;
  /** Set where it works because it has booted: then the job is made when this is written. */
  readonly bootedHost?: string;
}

/**
 * What a host must still clean up behind an instance. It outlives the ARQs: they end at once, also while
 * their host is dead.
 */
export interface HostRelease {
  readonly id: ReleaseId;
  readonly bindId?: BindId;
  /** By which its host was to make again what is released now. */
  readonly bootJob?: string;
  /** The bind goes on: the instance keeps some of its ARQs. */
  readonly isPart?: true;
  readonly hostname: string;
  readonly handles: readonly {
    readonly providerUuid: ProviderUuid;
    readonly handleUuid: HandleUuid;
  }[];
  /** Nothing to clean up, but a region to program for an operator, with its handles kept meanwhile. */
  readonly program?: { readonly imageId: string; readonly providerUuid: ProviderUuid };
  readonly startedAt: string;
  readonly requestId?: string;
  /** Set when no confirmation came in time; it may still come. */
  readonly quarantine?: string;
  /** When the host is asked again to clean up, while it is in quarantine; ISO 8601. */
  readonly retryAt?: string;
  /** How often the host has been asked again. */
  readonly retries?: number;
}

/** Resolved means that waiting longer changes nothing: bound, or failed to bind. */
export function isResolved(state: ShownState): boolean {
  return state === 'Bound' || state === 'BindFailed';
}
