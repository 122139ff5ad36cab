// The history of attach handles, as their rows change: each claim is followed by its release, and
// no handle is in use twice at one moment. Usage is counted from these records.

import type { HistoryRecord } from '#core/domain/history/history.ts';
import { deriveHistory } from '#core/domain/history/history-of-change.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import type { RowChange } from '#simulation/database/memory-database.ts';
import type { Violate } from '#simulation/violation.ts';

/** @returns called for each committed change */
export function createHistoryCheck(violate: Violate): (change: RowChange) => void {
  /** The last claim or release of each handle. */
  const last = new Map<string, HistoryRecord>();
  let changes = 0;
  return ({ before, after }) => {
    const row = after ?? before;
    if (!String(row?.sk).startsWith('HANDLE#')) return;
    changes += 1;
    const images = {
      ...(before && { before: toHandle(before) }),
      ...(after && { after: toHandle(after) }),
    };
    const metadata = { id: String(changes), at: 0 };
    for (const record of deriveHistory({ kind: 'handle', ...images }, metadata)) {
      if (record.kind !== 'handle.claimed' && record.kind !== 'handle.released') continue;
      const key = `${row?.pk} ${row?.sk}`;
      check(key, last.get(key), record, violate);
      last.set(key, record);
    }
  };
}

function check(
  key: string,
  previous: HistoryRecord | undefined,
  record: HistoryRecord,
  violate: Violate,
): void {
  const { kind, at, since, arqUuid, projectId, deviceUuid, hostname, by } = record;
  const isAlternate = (previous?.kind === 'handle.claimed') === (kind === 'handle.released');
  if (!isAlternate) violate('I3', `${key}: ${kind} follows ${previous?.kind ?? 'nothing'}`);
  if (previous && at < previous.at) violate('I3', `${key}: ${kind} is before ${previous.kind}`);
  if (!projectId || !deviceUuid || !hostname || !by) {
    violate('I3', `${key}: ${kind} does not say whose, where or by whom`);
  }
  if (kind === 'handle.released' && (since !== previous?.at || arqUuid !== previous?.arqUuid)) {
    violate('I3', `${key}: the release of ARQ ${arqUuid} is not of the last claim`);
  }
}
