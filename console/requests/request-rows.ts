// Accelerator requests in the order in which they need attention, each with its reason and the
// next step.

import type { Arq, HistoryRecord, Incident } from '#console/api/answers.ts';

export interface RequestRow {
  readonly arqUuid: string;
  readonly state: Arq['state'];
  /** Undefined for a request that only an incident names. */
  readonly profile: string | undefined;
  readonly hostname: string | null;
  readonly instanceUuid: string | null;
  readonly projectId: string | null;
  readonly since: string | null;
  readonly reason: string | undefined;
  readonly nextStep: string | undefined;
  readonly isStuck: boolean;
}

/** Requests that need attention come first. */
const ranks: Readonly<Record<Arq['state'], number>> = {
  BindFailed: 1,
  unknown: 2,
  provisioning: 3,
  BindStarted: 4,
  Initial: 5,
  Unbound: 6,
  Bound: 7,
};

const nextSteps: Readonly<Record<Arq['state'], string | undefined>> = {
  BindFailed: 'Delete the server, and create it again once the cause is removed.',
  unknown: 'The agent of the host is not connected: start the host and its agent.',
  provisioning: 'The host has rebooted and prepares the accelerator again. Wait.',
  BindStarted: 'The host prepares the accelerator. Wait: the bind has a deadline.',
  Initial: 'Nova has not asked for the bind yet. Wait, or look at the server in Nova.',
  Unbound: undefined,
  Bound: undefined,
};

/** @param failures records of failed binds, for a tenant that sees no incidents */
export function requestRows(
  arqs: readonly Arq[],
  incidents: readonly Incident[],
  failures: readonly HistoryRecord[],
): RequestRow[] {
  const byInstance = new Map(incidents.map((each) => [each.instance_uuid, each]));
  const reasons = new Map(
    failures.flatMap(({ arq_uuids, reason }) => arq_uuids.map((uuid) => [uuid, reason] as const)),
  );
  const listed = arqs.map((arq): RequestRow => {
    const isSettled = arq.state === 'Bound' || arq.state === 'Unbound';
    const incident =
      arq.instance_uuid === null || isSettled ? undefined : byInstance.get(arq.instance_uuid);
    const failure = arq.state === 'BindFailed' ? reasons.get(arq.uuid) : undefined;
    return {
      arqUuid: arq.uuid,
      state: arq.state,
      profile: arq.device_profile_name,
      hostname: arq.hostname,
      instanceUuid: arq.instance_uuid,
      projectId: arq.project_id,
      since: arq.updated_at ?? arq.created_at,
      reason: incident?.reason ?? failure ?? undefined,
      nextStep: incident?.next_step ?? nextSteps[arq.state],
      isStuck: incident?.kind === 'stuck-job',
    };
  });
  const listedUuids = new Set(arqs.map(({ uuid }) => uuid));
  const others = incidents.flatMap((each) =>
    each.arq_uuid === null || listedUuids.has(each.arq_uuid) ? [] : [toRow(each, each.arq_uuid)],
  );
  return [...others, ...listed].sort(byNeed);
}

/** What is chosen beside the states of the API. */
export const rowChoices = [
  'unsettled',
  'stuck',
  ...(Object.keys(ranks) as Arq['state'][]),
] as const;

export interface RowFilters {
  readonly state?: string;
  readonly profile?: string;
  readonly host?: string;
  readonly server?: string;
  readonly project?: string;
}

/** The rows whose state is the chosen one, and whose names and ids have the texts in them. */
export function matchingRows(rows: readonly RequestRow[], filters: RowFilters): RequestRow[] {
  const { state, profile, host, server, project } = filters;
  const has = (value: string | null | undefined, text = '') =>
    (value ?? '').toLowerCase().includes(text.toLowerCase());
  return rows.filter(
    (row) =>
      isChosen(row, state) &&
      has(row.profile, profile) &&
      has(row.hostname, host) &&
      has(row.instanceUuid, server) &&
      has(row.projectId, project),
  );
}

function isChosen(row: RequestRow, choice: string | undefined): boolean {
  if (!choice) return true;
  if (choice === 'unsettled') return row.nextStep !== undefined;
  return choice === 'stuck' ? row.isStuck : row.state === choice;
}

/** The row of a request that is older than the listed ones. */
function toRow(incident: Incident, arqUuid: string): RequestRow {
  const isStuck = incident.kind === 'stuck-job';
  return {
    arqUuid,
    state: isStuck ? 'BindStarted' : 'BindFailed',
    profile: incident.device_profile_name ?? undefined,
    hostname: incident.hostname,
    instanceUuid: incident.instance_uuid,
    projectId: incident.project_id,
    since: incident.since,
    reason: incident.reason,
    nextStep: incident.next_step,
    isStuck,
  };
}

function byNeed(one: RequestRow, other: RequestRow): number {
  const byRank = rankOf(one) - rankOf(other);
  if (byRank !== 0) return byRank;
  const byTime = (one.since ?? '').localeCompare(other.since ?? '');
  // The longest wait first; among settled requests, the newest.
  return rankOf(one) < ranks.Unbound ? byTime : -byTime;
}

/** The first rank needs attention most. */
export function rankOf({ isStuck, state }: RequestRow): number {
  return isStuck ? 0 : ranks[state];
}
