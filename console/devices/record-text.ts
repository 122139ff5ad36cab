// A record of the history in words.

import type { HistoryRecord } from '#console/api/answers.ts';

const titles: Readonly<Partial<Record<HistoryRecord['kind'], string>>> = {
  'arq.created': 'ARQ created',
  'arq.deleted': 'ARQ deleted',
  'handle.claimed': 'Claimed by a server',
  'handle.released': 'Released',
  'handle.cleaned': 'Cleaned',
  'handle.quarantined': 'Quarantined',
  'handle.reinstated': 'Reinstated after a restore',
  'bind.bound': 'Bound',
  'bind.failed': 'Bind failed',
  'bind.reprovisioning': 'Reprovisioning after a reboot',
  'device.added': 'Device added',
  'device.gone': 'Device no longer reported',
  'device.removed': 'Device removed',
  'device.status': 'Status set',
  'device.unhealthy': 'Device unhealthy',
  'device.healthy': 'Device healthy again',
  'device.not-attached': 'Device not attached as bound',
  'device.attached': 'Device attached as bound',
  'device.forced': 'Released by force',
  'device.changed': 'Device described otherwise',
  'device.programmed': 'Component programmed',
  'region.programmed': 'Region programmed',
};

/** `Handle added` for `handle.added`, where no better title is known. */
export function kindText(kind: HistoryRecord['kind']): string {
  const plain = kind.replaceAll(/[.-]/g, ' ');
  return titles[kind] ?? `${plain[0]?.toUpperCase() ?? ''}${plain.slice(1)}`;
}

/** `reset flr, memory_cleared yes` */
export function evidenceText(evidence: NonNullable<HistoryRecord['evidence']>): string {
  return Object.entries(evidence)
    .map(([name, value]) => `${name} ${value === true ? 'yes' : value === false ? 'no' : value}`)
    .join(', ');
}

interface RecordGroup {
  readonly first: HistoryRecord;
  /** How many records differ from the first in the attach handle only. */
  readonly count: number;
}

/** A host reports all handles of its devices at once: those of a device are one line. */
export function recordGroups(records: readonly HistoryRecord[]): RecordGroup[] {
  const alike = Map.groupBy(records, likeness);
  return [...alike.values()].flatMap((each) => {
    const [first] = each;
    return first ? [{ first, count: each.length }] : [];
  });
}

function likeness({ id, attach_handle_uuid: _handle, at, ...rest }: HistoryRecord): string {
  // A record of a server is a line of its own.
  return JSON.stringify([at.slice(0, 19), rest, rest.instance_uuid && id]);
}
