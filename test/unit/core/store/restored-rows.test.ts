// What becomes of a host's row when a backup is restored.

import { describe, expect, it } from 'vitest';
import { restoredRow } from '#core/store/backups/restored-rows.ts';
import { hostKey } from '#core/store/rows/rows.ts';

const moment = '2026-11-20T13:00:00.000Z';
const presence = { is_connected: true, version: 57, session: 's', at: moment, order: 3 };
const backup = { ...hostKey('cmp1'), boot_id: 'b', epoch: 4, presence };

function restored(current?: Record<string, unknown>) {
  return restoredRow('inventory', backup, { moment, now: Date.parse(moment), current });
}

describe('the row of a host', () => {
  it('keeps the presence of the stage as it is now', () => {
    const current = { ...backup, presence: { ...presence, version: 58 } };
    expect(restored(current)).toMatchObject({ presence: { version: 58 }, epoch: 5 });
  });

  it('has no version of a connection if the stage has no such row, as in another region', () => {
    const { version: _, ...known } = presence;
    expect(restored()?.presence).toEqual(known);
    expect(restored()).toMatchObject({ boot_id: 'b', epoch: 5, sequence: -1 });
  });
});
