// What a change of a device's row adds to the history.

import { sweeper } from '#core/domain/change-note.ts';
import type { ComponentNote, Device, HoldMark } from '#core/domain/device/device.ts';
import { describeAttachment, faultKey } from '#core/domain/device/device-attachments.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import { faultOf } from '#core/domain/report/withhold-recovered.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Draft } from './history.ts';

/** What a host says of a device, which changes seldom. */
const describedFields = [
  'driver',
  'type',
  'vendor',
  'product',
  'model',
  'firmware',
  'identity',
  'handleCount',
] as const satisfies readonly (keyof Device)[];

export function deviceDrafts(before: Device | undefined, after: Device | undefined): Draft[] {
  const device = after ?? before;
  if (!device) return [];
  const common = { hostname: device.hostname, deviceUuid: device.uuid };
  if (!after) return [{ kind: 'device.removed', ...common }];
  const reported = { by: 'agent', at: after.updatedAt ?? after.createdAt, ...common };
  if (!before) {
    const added = { kind: 'device.added', to: after.status, ...reported } as const;
    return [added, ...holdDrafts([], after.holds, common)];
  }
  return [
    ...statusDrafts(before, after, common),
    ...holdDrafts(before.holds, after.holds, common),
    ...ownerDrafts(before.offeredTwice, after.offeredTwice, common),
    ...programDrafts(before, after, common),
    ...healthDrafts(before, after, reported),
    ...attachmentDrafts(before, after, reported),
    ...(before.isGone === after.isGone
      ? []
      : [{ kind: after.isGone ? 'device.gone' : 'device.added', ...reported } as const]),
    ...changedDrafts(before, after, reported),
  ];
}

function statusDrafts(before: Device, after: Device, common: Pick<Draft, 'hostname'>): Draft[] {
  const drafts: Draft[] = [];
  const { statusChange: change, forced } = after;
  // Two changes may have the same time.
  if (change && serialize(change) !== serialize(before.statusChange)) {
    const { by, at, reason, requestId } = change;
    drafts.push({
      kind: 'device.status',
      from: before.status,
      to: after.status,
      at,
      ...common,
      by: by === sweeper ? by : `user:${by}`,
      ...(reason && { reason }),
      ...present({ requestId }),
    });
  }
  if (forced && serialize(forced) !== serialize(before.forced)) {
    const { by, at, reason, isCleaned } = forced;
    drafts.push({
      kind: 'device.forced',
      to: isCleaned ? 'free' : 'cleaning',
      at,
      by: `user:${by}`,
      ...common,
      ...(reason && { reason }),
    });
  }
  if (before.conflictSince === after.conflictSince) return drafts;
  return after.conflictSince === undefined
    ? [...drafts, { kind: 'device.conflict-ended', ...common }]
    : [...drafts, { kind: 'device.conflict', at: after.conflictSince, by: 'agent', ...common }];
}

function ownerDrafts(
  before: Device['offeredTwice'],
  after: Device['offeredTwice'],
  common: Pick<Draft, 'hostname'>,
): Draft[] {
  if (before?.since === after?.since) return [];
  const toReason = ({ name, by }: NonNullable<Device['offeredTwice']>) => `${name}, by ${by}`;
  if (after) {
    return [{ kind: 'device.offered-twice', at: after.since, ...common, reason: toReason(after) }];
  }
  return before
    ? [{ kind: 'device.offered-once', since: before.since, ...common, reason: toReason(before) }]
    : [];
}

/** One draft for all holds that begin, and one for all that end. */
function holdDrafts(
  before: readonly HoldMark[] = [],
  after: readonly HoldMark[] = [],
  common: Pick<Draft, 'hostname'>,
): Draft[] {
  const begun = after.filter(
    ({ id, at }) => !before.some((each) => each.id === id && each.at === at),
  );
  const ended = before.filter(({ id }) => !after.some((each) => each.id === id));
  const toReason = (marks: readonly HoldMark[]) => marks.map(({ reason }) => reason).join('; ');
  const [last] = begun.toSorted((one, other) => (one.at > other.at ? -1 : 1));
  return [
    ...(last
      ? [
          {
            kind: 'device.on-hold',
            by: `user:${last.by}`,
            ...common,
            reason: toReason(begun),
          } as const,
        ]
      : []),
    ...(ended[0]
      ? [
          {
            kind: 'device.hold-ended',
            since: ended[0].at,
            ...common,
            reason: toReason(ended),
          } as const,
        ]
      : []),
  ];
}

function programDrafts(before: Device, after: Device, common: Pick<Draft, 'hostname'>): Draft[] {
  const earlier = new Map(before.programs?.map(({ id, state }) => [id, state]));
  const changed = (after.programs ?? []).filter(({ id, state }) => earlier.get(id) !== state);
  return changed.map((program) => {
    const { id, component, version, image, state: to, at, since, reason, evidence } = program;
    const from = earlier.get(id);
    const what = `${component} ${version}, image ${image}`;
    return {
      kind: 'device.programmed',
      ...present({ from, evidence, by: programActor(program, from) }),
      to,
      at: from ? since : at,
      ...present({ since: from && startedAt(before, id) }),
      ...common,
      reason: reason ? `${what}: ${reason}` : what,
    };
  });
}

function startedAt({ programs = [] }: Device, id: string): string | undefined {
  const note = programs.find((each) => each.id === id);
  return note?.since ?? note?.at;
}

/** A failure names in its reason who or what ended the program. */
function programActor(
  { state, by }: ComponentNote,
  from: ComponentNote['state'] | undefined,
): string | undefined {
  if (!from) return `user:${by}`;
  if (from === 'draining') return sweeper;
  return state === 'failed' ? undefined : 'agent';
}

function healthDrafts(before: Device, after: Device, reported: Omit<Draft, 'kind'>): Draft[] {
  if (isUnhealthy(before) === isUnhealthy(after)) return [];
  return isUnhealthy(after)
    ? [
        {
          kind: 'device.unhealthy',
          ...reported,
          ...(after.health?.reason && { reason: after.health.reason }),
        },
      ]
    : [
        {
          kind: 'device.healthy',
          ...reported,
          ...present({
            since: before.health?.since,
            reason: before.health && faultOf(before.health),
          }),
        },
      ];
}

function attachmentDrafts(before: Device, after: Device, reported: Omit<Draft, 'kind'>): Draft[] {
  const was = before.attachmentFaults ?? [];
  const is = after.attachmentFaults ?? [];
  const [earlier, later] = [new Set(was.map(faultKey)), new Set(is.map(faultKey))];
  const toDraft = (kind: Draft['kind'], fault: (typeof is)[number]): Draft => ({
    kind,
    ...reported,
    since: fault.since,
    instanceUuid: fault.instanceUuid,
    reason: describeAttachment(kind === 'device.attached' ? before : after, fault),
  });
  return [
    ...is
      .filter((each) => !earlier.has(faultKey(each)))
      .map((each) => toDraft('device.not-attached', each)),
    ...was
      .filter((each) => !later.has(faultKey(each)))
      .map((each) => toDraft('device.attached', each)),
  ];
}

function changedDrafts(before: Device, after: Device, reported: Omit<Draft, 'kind'>): Draft[] {
  const changed = describedFields.filter(
    (name) => serialize(before[name]) !== serialize(after[name]),
  );
  if (changed.length === 0) return [];
  return [{ kind: 'device.changed', ...reported, reason: changed.join(', ') }];
}

function serialize(value: unknown): string {
  return JSON.stringify(value) ?? '';
}
