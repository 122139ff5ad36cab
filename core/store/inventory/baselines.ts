// What operators want the components of each model to run. One row has all baselines, each as an
// attribute of its own, so that changes of two baselines do not meet.

import {
  type BaselineKey,
  baselinesMax,
  type FirmwareBaseline,
} from '#core/domain/device/firmware/firmware-baselines.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { firmwareBaseline } from '#core/shapes/device.ts';
import { baselineField, baselinePrefix, toBaselines } from '#core/store/rows/inventory-rows.ts';
import { baselinesKey } from '#core/store/rows/rows.ts';
import { putMember, removeMember } from '#core/store/table/bounded-set.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';

export interface BaselineStore {
  /** In no order. */
  baselines(): Promise<FirmwareBaseline[]>;
  /** Replaces that of the component. False if the cloud has as many others as allowed. */
  putBaseline(baseline: FirmwareBaseline): Promise<boolean>;
  /** False if there is none. */
  deleteBaseline(key: BaselineKey): Promise<boolean>;
}

export function baselineStore(client: Documents, table: string): BaselineStore {
  const Key = baselinesKey();
  const set = { table, Key, prefix: baselinePrefix, count: 'baseline_count', max: baselinesMax };
  return {
    async baselines() {
      const row = await getRow(client, table, Key);
      return row ? toBaselines(row) : [];
    },

    async putBaseline(baseline) {
      const row = toWire(firmwareBaseline, baseline);
      const besides = { set: { changed_at: baseline.at } };
      return (await putMember(client, set, baselineField(baseline), row, besides)) === 'stored';
    },

    deleteBaseline: (key) => removeMember(client, set, baselineField(key)),
  };
}
