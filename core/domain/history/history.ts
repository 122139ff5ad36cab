// The history: an append-only record of each change of a device, an attach handle, an ARQ, a host
// and a device profile. history-of-change.ts derives the records from the tables' streams.

/** What happened. The part before the dot is what it happened to. */
export const historyKinds = [
  /** The ARQ was created; it has no device yet. */
  'arq.created',
  /** An ARQ that had no device was deleted by a request, or by the sweep after its time. */
  'arq.deleted',
  /** An ARQ took the handle: an accelerator is used from here on. */
  'handle.claimed',
  /** The ARQ gave the handle back: `since` says from when on it was used. */
  'handle.released',
  /** The host confirmed the cleaning, with its evidence; or there was nothing to clean. */
  'handle.cleaned',
  'handle.quarantined',
  /** Handles of a restored backup that may be claimed again. */
  'handle.reinstated',
  'handle.added',
  /** The host no longer reports it. */
  'handle.gone',
  'handle.returned',
  'handle.removed',
  /** The host has made ready what was claimed. A bind that needs no host is only claimed. */
  'bind.bound',
  'bind.failed',
  /** The host has booted and makes ready again what the instance had. */
  'bind.reprovisioning',
  'device.added',
  'device.gone',
  'device.removed',
  /** An operator enabled or disabled it. */
  'device.status',
  'device.unhealthy',
  'device.healthy',
  'device.conflict',
  'device.conflict-ended',
  /** Its host describes it otherwise; `reason` names the fields. */
  'device.changed',
  /** An operator released its handles by force. */
  'device.forced',
  /** An operator has a region programmed. */
  'region.programmed',
  'host.added',
  'host.booted',
  'host.connected',
  'host.disconnected',
  /** Its agent reports another version. */
  'host.upgraded',
  /** Two agents report as this host. */
  'host.conflict',
  'host.conflict-ended',
  /** An operator said that it is gone for good. */
  'host.forgotten',
  'profile.created',
  /** An operator renamed traits or classes in its groups; `reason` has both names. */
  'profile.changed',
  'profile.deleted',
  /** A user's call that changes something, other than Nova's; see domain/calls.ts. */
  'call.done',
  'call.refused',
  /** The service could not answer it: what it asked for may be changed in part. */
  'call.failed',
] as const;
export type HistoryKind = (typeof historyKinds)[number];

export interface HistoryRecord {
  /** The same for each reading of the same change. */
  readonly id: string;
  /** ISO 8601, to the millisecond where the row has it, else to the second. */
  readonly at: string;
  readonly kind: HistoryKind;
  readonly from?: string;
  readonly to?: string;
  /** ISO 8601: since when it was as in `from`. */
  readonly since?: string;
  readonly hostname?: string;
  readonly deviceUuid?: string;
  readonly providerUuid?: string;
  readonly handleUuid?: string;
  readonly resourceClass?: string;
  readonly arqUuid?: string;
  /** Of a bind, which is one change of all ARQs of an instance. */
  readonly arqUuids?: readonly string[];
  readonly instanceUuid?: string;
  readonly projectId?: string;
  readonly profileName?: string;
  /** As in a {@link ChangeNote}. */
  readonly by?: string;
  readonly requestId?: string;
  readonly reason?: string;
  readonly call?: HistoryCall;
  /** What the host verified after cleaning. */
  readonly evidence?: Readonly<Record<string, string | number | boolean>>;
}

/** Who called, and what was answered. */
export interface HistoryCall {
  /** The rule of the policy. */
  readonly rule: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The project of the caller's token. */
  readonly project: string;
  readonly roles: readonly string[];
  /** JSON text: what the body asked for, if the path does not say it. */
  readonly given?: string;
}

/** A record before it has an id; without a time of its own it has the commit's. */
export type Draft = Omit<HistoryRecord, 'id' | 'at'> & { readonly at?: string | undefined };

/** The one of several subjects by which a history is read. */
export const historySubjects = [
  'arq',
  'instance',
  'device',
  'host',
  'project',
  'profile',
  'kind',
  'day',
] as const;
export type HistorySubject = (typeof historySubjects)[number];

/** A partition of the history's table. */
export interface HistoryPartition {
  readonly subject: HistorySubject;
  readonly key: string;
}

/**
 * Where a record is stored, once in each: every copy costs one write, so an ARQ's creation is with
 * the ARQ only, and a claim is with the instance where its release is with the ARQ: each names the
 * other's subject.
 * Failed binds are also together: an operator asks for those of the last half hour.
 * A device's records are with its host. `device` holds its first and last record, which name the
 * host when the device's row is deleted.
 */
export function partitionsOf(record: HistoryRecord): HistoryPartition[] {
  const { kind, hostname, projectId, instanceUuid, arqUuid, arqUuids, deviceUuid } = record;
  const arqs = arqUuids ?? (arqUuid ? [arqUuid] : []);
  const ofArqs = arqs.map((key) => ({ subject: 'arq', key }) as const);
  if (kind === 'arq.created' || kind === 'arq.deleted') return ofArqs;
  const isEnd = kind === 'device.added' || kind === 'device.removed';
  return [
    ...(kind === 'handle.claimed' && instanceUuid ? [] : ofArqs),
    ...partition('instance', kind === 'handle.released' ? undefined : instanceUuid),
    ...partition('host', hostname),
    ...partition('project', projectId),
    ...partition('device', isEnd ? deviceUuid : undefined),
    ...partition('profile', kind.startsWith('profile.') ? record.profileName : undefined),
    ...partition('kind', kind === 'bind.failed' ? kind : undefined),
    { subject: 'day', key: dayOf(record.at, record.id) },
  ];
}

/** Longer than the 31 days that one question to the whole history covers. */
const claimsDays = 35;

/**
 * How long a copy of a record is kept. The end of a claim has its beginning in it, so the copies
 * of claims by which projects and days are listed go sooner than those of the host and the
 * instance.
 */
export function daysKept(
  { kind }: Pick<HistoryRecord, 'kind'>,
  { subject }: HistoryPartition,
  days: number,
): number {
  const isRepeated = kind === 'handle.claimed' && (subject === 'project' || subject === 'day');
  return isRepeated ? Math.min(claimsDays, days) : days;
}

function partition(subject: HistorySubject, key: string | undefined): HistoryPartition[] {
  return key === undefined ? [] : [{ subject, key }];
}

const shards = [...'0123456789abcdef'];

/** One of 16 parts of a day, so that a busy cloud does not write to one partition only. */
function dayOf(at: string, id: string): string {
  return `${at.slice(0, 10)}#${id.at(-1) ?? '0'}`;
}

/** All parts of a day in UTC, `YYYY-MM-DD`. */
export function partsOfDay(day: string): HistoryPartition[] {
  return shards.map((shard) => ({ subject: 'day', key: `${day}#${shard}` }));
}
