// What the sweep has measured of the fleet: a few rows, so that a scrape reads no hosts.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { fleetMeasurement } from '#core/shapes/fleet.ts';
import { fleetKey } from './rows/history-rows.ts';
import { fromRow } from './rows/row-fields.ts';
import type { Documents } from './table/documents.ts';
import { getRow } from './table/reads.ts';
import { held } from './table/writes.ts';

export type FleetMeasurement = Shaped<typeof fleetMeasurement>;

/**
 * `minute`: states of hosts, and all binds so far. `round`: a measurement of all hosts that is
 * under way. `complete`: the last round that ended.
 */
export type FleetPart = 'minute' | 'round' | 'complete';

export interface FleetStore {
  read(part: FleetPart): Promise<FleetMeasurement | undefined>;
  /** False if another sweep has written the part since its revision before was read. */
  write(part: FleetPart, measurement: FleetMeasurement): Promise<boolean>;
}

export function fleetStore(client: Documents, table: string): FleetStore {
  return {
    async read(part) {
      const row = await getRow(client, table, fleetKey(part));
      return row && fromRow(fleetMeasurement, row);
    },

    write(part, measurement) {
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item: { ...fleetKey(part), ...toWire(fleetMeasurement, measurement) },
            ConditionExpression: 'attribute_not_exists(pk) OR revision < :revision',
            ExpressionAttributeValues: { ':revision': measurement.revision },
          }),
        ),
      );
    },
  };
}
