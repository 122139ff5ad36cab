import type { IncidentMark } from '#core/domain/history/incident-marks.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import type { IncidentMarker } from '#core/store/hosts/incident-marks.ts';

const writesAtOnce = 16;

/** Marks what committed changes ask for. The same changes again set the same marks again. */
export async function markIncidents(
  incidentMarks: IncidentMarker,
  changes: readonly { readonly marks: readonly IncidentMark[]; readonly at: string }[],
): Promise<void> {
  const all = changes.flatMap(({ marks, at }) => marks.map((mark) => ({ mark, at })));
  await forEachAtOnce(all, writesAtOnce, ({ mark, at }) => incidentMarks.mark(mark, at));
}
