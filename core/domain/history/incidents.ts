// What an operator should look at, derived from stored state when it is asked for; each with the
// next step, and the action that ends it where there is one.

import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { releasesMax, releasesOfMany, type WaitingInstance } from '#core/domain/arq/reaper.ts';
import { skewSecondsMax } from '#core/domain/host/clock-skew.ts';
import type { NotOffered } from '#core/domain/host/host.ts';
import { type Drain, isOverdue } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { isStopped } from '#core/domain/host-work/deadlines.ts';
import { type AwaitedWork, leftAtOf } from '#core/domain/host-work/host-work.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HistoryRecord } from './history.ts';

/** In the order in which they are listed. */
export const storedKinds = [
  'device-not-attached',
  'failed-bind',
  'stuck-job',
  'quarantine',
  'conflict',
  'offered-twice',
  'host-away',
  'maintenance-overdue',
  'clock-skew',
  'not-offered',
  'lost-providers',
  'unhealthy-device',
  'moved-card',
  'firmware-differs',
  'awaits-power-cycle',
  'reaper-waits',
] as const;
export type StoredKind = (typeof storedKinds)[number];

/** Drift is not stored: a host is compared with Placement when it is asked for. */
export const incidentKinds = [...storedKinds, 'drift'] as const;
export type IncidentKind = (typeof incidentKinds)[number];

/** On the host or the device of the incident. The console and `cyborg-ops` have each of them. */
export const incidentActions = [
  'rediscover',
  'forget',
  'force-release',
  'reconcile',
  'settle',
  'reap',
  'resume',
] as const;
export type IncidentAction = (typeof incidentActions)[number];

export interface Incident {
  readonly kind: IncidentKind;
  /** ISO 8601. */
  readonly since?: string;
  readonly hostname: string;
  readonly deviceUuid?: string;
  readonly arqUuid?: string;
  readonly instanceUuid?: string;
  readonly projectId?: string;
  readonly profileName?: string;
  readonly reason: string;
  readonly nextStep: string;
  readonly action?: IncidentAction;
  /** The incident has ended then; ISO 8601. */
  readonly endedAt?: string;
  /** The actor, named as in the history; undefined where time alone ended it. */
  readonly endedBy?: string;
}

/** The sweep runs each minute; what is overdue for longer has been missed by two of its runs. */
const stuckMs = 3 * 60_000;

export const devicesNamed = 5;

/** A bind that failed, or one whose deadline nothing enforces. */
export function bindingIncident(
  binding: InstanceBinding,
  dueMs: number,
  nowMs: number,
): Incident | undefined {
  const { state, hostname, instanceUuid, projectId, profileName, arqUuids } = binding;
  const [arqUuid] = arqUuids;
  const about = { hostname, instanceUuid, projectId, ...present({ arqUuid, profileName }) };
  if (state === 'BindFailed') {
    return {
      kind: 'failed-bind',
      since: binding.resolvedAt ?? binding.startedAt,
      ...about,
      reason: binding.failure ?? 'The bind failed.',
      nextStep:
        'Remove the cause on the host, then delete the server in Nova and create it again; a server without a host loses its accelerator requests half an hour after the failure.',
    };
  }
  const startedMs = Date.parse(binding.startedAt);
  if (state === 'Bound' || nowMs - startedMs < dueMs + stuckMs) return undefined;
  return {
    kind: 'stuck-job',
    since: binding.startedAt,
    ...about,
    reason: `The instance is still ${state}; its deadline was ${timeOf(startedMs + dueMs)}.`,
    nextStep:
      "Read the log and the alarms of the function sweep, which enforces deadlines, and the host's agent.",
  };
}

/** A failed bind by its record, for as long as a failed bind is kept: Nova deletes its ARQs. */
export function failedBindIncident(record: HistoryRecord): Incident {
  const { at: since, hostname = '', instanceUuid, projectId, profileName, arqUuids } = record;
  const [arqUuid] = arqUuids ?? [];
  return {
    kind: 'failed-bind',
    since,
    hostname,
    ...present({ instanceUuid, projectId, arqUuid, profileName }),
    reason: record.reason ?? 'The bind failed.',
    nextStep:
      'Nova has deleted the accelerator requests, and the server is in ERROR unless another host took it: remove the cause on the host, then create the server again.',
  };
}

/** Work that handles of a device wait for: in quarantine, or overdue; as old as its first try. */
export function workIncident(
  work: AwaitedWork,
  device: DeviceUuid | undefined,
  dueMs: number,
  nowMs: number,
): Incident | undefined {
  const { kind, hostname, handles, quarantine, retries = 0 } = work;
  const about = { since: leftAtOf(work), hostname, ...present({ deviceUuid: device }) };
  if (quarantine !== undefined) {
    return {
      kind: 'quarantine',
      ...about,
      reason: `${handles.length} attach handles${retries === 0 ? '' : ` after ${retries + 1} failed cleanings`}: ${quarantine}`,
      nextStep: `${isStopped(work, nowMs) ? stoppedStep(hostname, device) : 'The host is asked again by itself.'} If it cannot clean the device, clean it by hand, and release it by force as cleaned. A card that is in another host for good, and offered there, was cleaned there: release it here by force as cleaned, too.`,
      ...(device && { action: 'force-release' }),
    };
  }
  const deadlineMs = Date.parse(work.startedAt) + dueMs;
  if (nowMs < deadlineMs + stuckMs) return undefined;
  return {
    kind: 'stuck-job',
    ...about,
    reason: `The ${kind} of ${handles.length} attach handles is not confirmed; its deadline was ${timeOf(deadlineMs)}.`,
    nextStep:
      "Read the log and the alarms of the function sweep, which enforces deadlines, and the host's agent.",
  };
}

/** No host is rebooted by this service. */
function stoppedStep(hostname: string, device = 'UUID'): string {
  return `The host is asked once a day only, because each attempt resets the device. If its reason asks for a reboot: cyborg-ops hosts drain ${hostname} --reason reboot; move the host's servers, reboot it (systemctl reboot, or a power cycle), and then: cyborg-ops hosts resume ${hostname}. To have it cleaned now: cyborg-ops devices force-release ${device} --reason repaired.`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

export function conflictIncident(hostname: string, since: string): Incident {
  return {
    kind: 'conflict',
    since,
    hostname,
    reason: 'Two agents report as this host; none of its devices is offered.',
    nextStep:
      'Stop the agent of the cloned host or enrol it under its own name; then name the boot of the right one, as the host lists them.',
    action: 'settle',
  };
}

export function awayIncident(hostname: string, since: string | undefined): Incident {
  return {
    kind: 'host-away',
    ...present({ since }),
    hostname,
    reason: 'The agent of the host is not connected and does not report.',
    nextStep:
      'Start the host and its agent; the runbook has the steps. The host shows how many servers hold its devices. Only if it is gone for good: evacuate or delete them, and then forget it.',
    action: 'forget',
  };
}

/** Undefined for a drain without an end, or before it. */
export function overdueIncident(
  hostname: string,
  drain: Drain,
  nowMs: number,
): Incident | undefined {
  const { until, by, at, reason } = drain;
  if (until === undefined || !isOverdue(drain, nowMs)) return undefined;
  return {
    kind: 'maintenance-overdue',
    since: until,
    hostname,
    reason: `User ${by} drained the host at ${at}, until ${until}: ${reason}`,
    nextStep:
      'Nothing is enabled by itself: resume the host if the work is done, or drain it again with a later end.',
    action: 'resume',
  };
}

/** @param aheadSeconds negative for a clock that is behind */
export function skewIncident(
  hostname: string,
  aheadSeconds: number | undefined,
): Incident | undefined {
  if (aheadSeconds === undefined || Math.abs(aheadSeconds) <= skewSecondsMax) return undefined;
  return {
    kind: 'clock-skew',
    hostname,
    reason: `The clock of the host is ${Math.abs(aheadSeconds)} s ${aheadSeconds > 0 ? 'ahead of' : 'behind'} the control plane's.`,
    nextStep:
      'Repair its time synchronisation (chrony, systemd-timesyncd); the agent measures again with its next report.',
  };
}

/** One for the host: an agent may be unable to offer hundreds of devices for one reason. */
export function notOfferedIncident(
  hostname: string,
  notOffered: readonly NotOffered[],
): Incident | undefined {
  if (notOffered.length === 0) return undefined;
  const reasons = notOffered
    .slice(0, devicesNamed)
    .map(({ address, reason }) => `The device at ${address} ${reason}.`);
  const more = notOffered.length - reasons.length;
  return {
    kind: 'not-offered',
    hostname,
    reason: [...reasons, ...(more > 0 ? [`${more} more.`] : [])].join(' '),
    nextStep: "Remove the cause, or take the device out of the agent's settings.",
    action: 'rediscover',
  };
}

/** Nova or an operator has deleted them in Placement: no server gets the host's devices. */
export function lostProvidersIncident({
  hostname,
  lostProviders,
}: HostSummary): Incident | undefined {
  if (!lostProviders) return undefined;
  const { since, count, isNodeLost } = lostProviders;
  const lost = `Placement lacks ${count} resource providers of the host's devices`;
  return {
    kind: 'lost-providers',
    since,
    hostname,
    reason: isNodeLost ? `${lost}, and that of its compute node.` : `${lost}.`,
    nextStep: isNodeLost
      ? "Start nova-compute on the host, which creates the compute node's provider; ours follow within a minute. If the host is gone for good, forget it."
      : 'They are written again within a minute. If they are not, the log of provider-syncs has the cause.',
    ...(!isNodeLost && { action: 'reconcile' }),
  };
}

/** One of more unused instances than the reaper releases by itself. */
export function waitingIncident(waiting: WaitingInstance): Incident {
  const { instanceUuid, hostname, projectId, since, isAbsent } = waiting;
  const nova = isAbsent ? 'Nova answers that it does not exist' : 'Nova has it on no host';
  return {
    kind: 'reaper-waits',
    since,
    hostname,
    instanceUuid,
    projectId,
    reason: `The instance holds devices and does not use them: ${nova}, and Placement has no allocation for it.`,
    nextStep: `More than ${releasesMax} such instances were found at once, so that Nova's answers may be wrong: ask Nova about some of them. Then reap; meanwhile the sweep releases ${releasesOfMany} a minute of those that do not exist.`,
    action: 'reap',
  };
}

/** A provider that Placement has otherwise than it is stored here, or than the host reports. */
export function driftIncident(
  hostname: string,
  drift: Readonly<Record<'provider' | 'stored' | 'placement' | 'host', string>>,
): Incident {
  const { provider, stored, placement, host } = drift;
  const reported = host === '' ? '' : ` The host: ${host}.`;
  return {
    kind: 'drift',
    hostname,
    reason: `Provider ${provider}: ${stored} stored, ${placement || 'nothing'} in Placement.${reported}`,
    nextStep:
      'Reconcile writes what is stored to Placement, as happens within the hour by itself; a provider that is not ours stays.',
    action: 'reconcile',
  };
}
