// Binds and host work that an operator should look at, derived from stored rows. Pure.

import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { releasesMax, releasesOfMany, type WaitingInstance } from '#core/domain/arq/reaper.ts';
import {
  type CleaningGroup,
  pausedUntilMs,
  pausingFailures,
} from '#core/domain/host-work/cleaning-groups.ts';
import { isStopped } from '#core/domain/host-work/deadlines.ts';
import { type AwaitedWork, leftAtOf } from '#core/domain/host-work/host-work.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HistoryRecord } from './history.ts';
import { devicesNamed, type Incident, rebootStep } from './incidents.ts';

/** The sweep runs each minute; what is overdue for longer has been missed by two of its runs. */
const stuckMs = 3 * 60_000;

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

function stoppedStep(hostname: string, device = 'UUID'): string {
  return `The host is asked once a day only, because each attempt resets the device. If its reason asks for a reboot: ${rebootStep(hostname)} To have it cleaned now: cyborg-ops devices force-release ${device} --reason repaired.`;
}

/** One for the failure domain, on the host that failed last. */
export function pausedIncident(group: CleaningGroup, nowMs: number): Incident | undefined {
  const failures = pausingFailures(group, nowMs);
  const [newest] = failures;
  if (!newest) return undefined;
  const { failureDomain } = group;
  const hosts = failures.map(({ hostname }) => hostname);
  const named = hosts.slice(0, devicesNamed).join(', ');
  const more = hosts.length - devicesNamed;
  const untilMs = pausedUntilMs(group, nowMs);
  const next =
    untilMs > nowMs
      ? `No host of it is asked again before ${timeOf(untilMs)}`
      : 'They are asked again one at a time';
  return {
    kind: 'cleanings-paused',
    since: failures.at(-1)?.at ?? newest.at,
    hostname: newest.hostname,
    reason: `The last cleanings of ${hosts.length} hosts of the failure domain ${failureDomain} failed: ${named}${more > 0 ? ` and ${more} more` : ''}. ${next}. The last reason: ${newest.reason}`,
    nextStep: `Look for what these hosts share: a power supply, a switch, a driver or firmware that was changed. The pause ends when a cleaning succeeds. To try one device after the repair: cyborg-ops incidents --kind quarantine --host ${newest.hostname}, and then cyborg-ops devices force-release UUID --reason repaired`,
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
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
