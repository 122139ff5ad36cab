import type { HandlePlace } from '#core/domain/device/handle-claim.ts';
import { partitionsOfEnd } from '#core/domain/history/ended-incidents.ts';
import { type HistoryRecord, partitionsFor } from '#core/domain/history/history.ts';
import { needsPlace } from '#core/domain/history/history-of-change.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import type { HistoryWriter } from '#core/store/history/history.ts';

interface CommittedChange {
  readonly change: Change;
  readonly records: readonly HistoryRecord[];
}

/** A batch of the streams is at most a hundred changes, most of them with a few copies. */
const writesAtOnce = 16;

/**
 * Adds committed changes to the history. The same changes again add nothing: a record has the same
 * key at each reading.
 */
export async function writeHistory(
  history: HistoryWriter,
  changes: readonly CommittedChange[],
): Promise<void> {
  const places = new Map<string, Promise<HandlePlace | undefined>>();
  const readPlace = async ({ change }: CommittedChange) => {
    if (change.kind !== 'handle' || !needsPlace(change)) return undefined;
    const provider = (change.after ?? change.before)?.providerUuid ?? '';
    const place = places.get(provider) ?? history.handlePlace(provider);
    places.set(provider, place);
    return place;
  };
  await forEachAtOnce(changes, writesAtOnce, async (each) => {
    const place = await readPlace(each);
    for (const draft of each.records) {
      const record = { ...place, ...draft };
      const partitions = [...partitionsFor(record), ...partitionsOfEnd(record)];
      await Promise.all(partitions.map((partition) => history.add(record, partition)));
    }
  });
}
