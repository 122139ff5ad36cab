// What an operator should look at, derived from stored state when it is asked for; each with the
// next step, and the action that ends it where there is one.

import { skewSecondsMax } from '#core/domain/host/clock-skew.ts';
import type { NotOffered } from '#core/domain/host/host.ts';
import { type Drain, isOverdue } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { present } from '#core/shapes/derive/present.ts';

/** In the order in which they are listed. */
export const storedKinds = [
  'device-not-attached',
  'failed-bind',
  'stuck-job',
  'quarantine',
  'cleanings-paused',
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

export const devicesNamed = 5;

/** No host is rebooted by this service. */
export function rebootStep(hostname: string): string {
  return `cyborg-ops hosts drain ${hostname} --reason reboot; move the host's servers, reboot it (systemctl reboot, or a power cycle), and then: cyborg-ops hosts resume ${hostname}.`;
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
