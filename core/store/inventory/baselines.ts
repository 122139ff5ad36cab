// What operators want the components of each model to run. One row has all baselines, each as an
// attribute of its own, so that changes of two baselines do not meet.

import type { BaselineKey, FirmwareBaseline } from '#core/domain/device/firmware-baselines.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { firmwareBaseline } from '#core/shapes/device.ts';
import { baselineField, toBaselines } from '#core/store/rows/inventory-rows.ts';
import { baselinesKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { updateIf } from '#core/store/table/writes.ts';

export interface BaselineStore {
  /** In no order. */
  baselines(): Promise<FirmwareBaseline[]>;
  /** Replaces the baseline of the component. */
  putBaseline(baseline: FirmwareBaseline): Promise<void>;
  /** False if there is none. */
  deleteBaseline(key: BaselineKey): Promise<boolean>;
}

export function baselineStore(client: Documents, table: string): BaselineStore {
  const Key = baselinesKey();
  return {
    async baselines() {
      const row = await getRow(client, table, Key);
      return row ? toBaselines(row) : [];
    },

    async putBaseline(baseline) {
      await updateIf(client, {
        TableName: table,
        Key,
        UpdateExpression: 'SET #baseline = :baseline, changed_at = :now',
        ExpressionAttributeNames: { '#baseline': baselineField(baseline) },
        ExpressionAttributeValues: {
          ':baseline': toWire(firmwareBaseline, baseline),
          ':now': baseline.at,
        },
      });
    },

    deleteBaseline: (key) =>
      updateIf(client, {
        TableName: table,
        Key,
        UpdateExpression: 'REMOVE #baseline',
        ConditionExpression: 'attribute_exists(#baseline)',
        ExpressionAttributeNames: { '#baseline': baselineField(key) },
      }),
  };
}
