// Incidents that have ended, from the history: those that a record ended, and failed binds, which
// time ends.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { type EndedKind, endedKind, endedKinds } from '#core/domain/history/ended-incidents.ts';
import { briefDays, endedIncidents, type HistoryRecord } from '#core/domain/history/history.ts';
import { awayIncident, conflictIncident, type Incident } from '#core/domain/history/incidents.ts';
import { failedBindIncident } from '#core/domain/history/work-incidents.ts';
import { failedBindKeptMs } from '#core/domain/host-work/deadlines.ts';
import { present } from '#core/shapes/derive/present.ts';
import { readTogether } from '#core/store/history/history-pages.ts';
import type { PageQuery } from '#functions/operator/list.ts';
import type { Page } from '#functions/operator/page.ts';
import { dayMs } from '#functions/operator/range.ts';

const failedBinds = { subject: 'kind', key: 'bind.failed' } as const;

/**
 * In the order of the records, the newest first. A marker is the key of a record.
 *
 * @throws InvalidInput for a kind whose ends are not recorded, or another list's marker
 */
export async function readEnded(
  { history, clock }: ConsumerDeps,
  { kind, host, limit, marker }: PageQuery<'incidents'>,
): Promise<Page<Incident>> {
  checkQuery(kind, marker);
  const partitions = [
    ...(kind === 'failed-bind' ? [] : [endedIncidents]),
    ...(kind === undefined || kind === 'failed-bind' ? [failedBinds] : []),
  ];
  const { records, next } = await readTogether(history, partitions, {
    limit,
    order: 'newest-first',
    from: new Date(clock() - briefDays * dayMs).toISOString(),
    filter: present({ hostname: host }),
    ...present({ after: marker }),
  });
  const ended = records.flatMap((record) => toIncident(record, clock()) ?? []);
  const shown = ended.filter((each) => kind === undefined || each.kind === kind);
  return { rows: withoutRepeats(shown), next };
}

function checkQuery(kind: string | undefined, marker: string | undefined): void {
  if (kind !== undefined && !endedKinds.some((each) => each === kind)) {
    throw new InvalidInput(
      `kind: the end of ${kind} is not recorded; with state ended it must be one of ${endedKinds.join(', ')}.`,
    );
  }
  if (marker !== undefined && !/^\d{4}-[\d:.T-]{18,20}Z#[0-9a-f-]{36}$/.test(marker)) {
    throw new InvalidInput(`Marker ${marker} could not be found: it is that of the page before.`);
  }
}

/** Undefined for a failed bind that is still open. */
function toIncident(record: HistoryRecord, nowMs: number): Incident | undefined {
  if (record.kind === 'bind.failed') {
    const endMs = Date.parse(record.at) + failedBindKeptMs;
    if (endMs > nowMs) return undefined;
    return { ...failedBindIncident(record), endedAt: new Date(endMs).toISOString() };
  }
  const kind = endedKind(record);
  if (!kind) return undefined;
  const { at: endedAt, hostname = '', since, deviceUuid } = record;
  const instanceUuid = kind === 'device-not-attached' ? record.instanceUuid : undefined;
  return {
    kind,
    hostname,
    ...present({ since, deviceUuid, instanceUuid }),
    reason: reasons[kind](record),
    nextStep: 'None: the incident has ended.',
    endedAt,
    ...present({ endedBy: record.kind === 'host.forgotten' ? 'operator' : record.by }),
  };
}

type ReasonOf = (record: HistoryRecord) => string;

const reasons: Readonly<Record<EndedKind, ReasonOf>> = {
  quarantine: ({ reason = 'not clean' }) => `Attach handles: ${reason}`,
  conflict: ({ hostname = '', at }) => conflictIncident(hostname, at).reason,
  'offered-twice': ({ reason = 'another service' }) => `The device was offered by ${reason}, too.`,
  'host-away': ({ hostname = '', kind, at }) =>
    kind === 'host.forgotten'
      ? 'The host was away, and an operator has forgotten it.'
      : awayIncident(hostname, at).reason,
  'clock-skew': ({ reason = 'The clock of the host was wrong.' }) => reason,
  'lost-providers': ({ reason = 'Placement lacked resource providers.' }) => reason,
  'unhealthy-device': ({ reason = 'was unhealthy' }) => `The device ${reason}.`,
  'device-not-attached': ({ reason = 'was not attached as it is bound' }) =>
    `Until then the device ${reason}.`,
  'awaits-power-cycle': ({ reason = '' }) => `The device waited for a power cycle: ${reason}.`,
};

/** A device's handles leave their quarantine together, with a record each. */
function withoutRepeats(incidents: readonly Incident[]): Incident[] {
  const byKey = new Map(
    incidents.map((each) => {
      const { kind, hostname, deviceUuid, instanceUuid, since, endedAt } = each;
      return [JSON.stringify([kind, hostname, deviceUuid, instanceUuid, since, endedAt]), each];
    }),
  );
  return [...byKey.values()];
}
