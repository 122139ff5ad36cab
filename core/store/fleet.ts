// What the sweep has measured of the fleet: a few rows, so that a scrape reads no hosts.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { fleetMeasurement } from '#core/shapes/fleet.ts';
import { fleetKey } from './rows/history-rows.ts';
import { fromRow } from './rows/row-fields.ts';
import type { Row } from './rows/rows.ts';
import type { Documents } from './table/documents.ts';
import { getRow, queryAll } from './table/reads.ts';
import { held } from './table/writes.ts';

export type FleetMeasurement = Shaped<typeof fleetMeasurement>;

/** Sums of the rounds that ended on a day in UTC. */
type FleetDay = `day-${string}`;
const dayPart = (day: string): FleetDay => `day-${day}`;

/**
 * `minute`: states of hosts, and all binds so far. `round`: a measurement of all hosts that is
 * under way. `complete`: the last round that ended.
 */
export type FleetPart = 'minute' | 'round' | 'complete' | FleetDay;

export interface FleetStore {
  read(part: FleetPart): Promise<FleetMeasurement | undefined>;
  /** False if another sweep has written the part since its revision before was read. */
  write(part: FleetPart, measurement: FleetMeasurement): Promise<boolean>;
  /** Adds to the sums of a day. @param expiresAt seconds since 1970 */
  addToDay(day: string, add: AddToDay, expiresAt: number): Promise<void>;
  /** The sums of the days from the first to the last one, in their order. */
  days(first: string, last: string): Promise<FleetDaySums[]>;
}

type AddToDay = (samples: FleetMeasurement['samples']) => FleetMeasurement['samples'];

interface FleetDaySums {
  readonly day: string;
  readonly samples: FleetMeasurement['samples'];
}

export function fleetStore(client: Documents, table: string): FleetStore {
  async function read(part: FleetPart): Promise<FleetMeasurement | undefined> {
    const row = await getRow(client, table, fleetKey(part));
    return row && fromRow(fleetMeasurement, row);
  }

  function write(part: FleetPart, measurement: FleetMeasurement, more: Row = {}) {
    return held(
      client.send(
        new PutCommand({
          TableName: table,
          Item: { ...fleetKey(part), ...toWire(fleetMeasurement, measurement), ...more },
          ConditionExpression: 'attribute_not_exists(pk) OR revision < :revision',
          ExpressionAttributeValues: { ':revision': measurement.revision },
        }),
      ),
    );
  }

  return {
    read,
    write: (part, measurement) => write(part, measurement),

    async addToDay(day, add, expires_at) {
      const { revision = 0, samples = [] } = (await read(dayPart(day))) ?? {};
      const sums = { revision: revision + 1, at: day, samples: add(samples) };
      await write(dayPart(day), sums, { expires_at });
    },

    async days(first, last) {
      const rows = await queryAll(client, {
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
        ExpressionAttributeValues: {
          ':pk': fleetKey('').pk,
          ':first': dayPart(first),
          ':last': dayPart(last),
        },
        ConsistentRead: true,
      });
      return rows.map((row) => {
        const { at: day, samples } = fromRow(fleetMeasurement, row);
        return { day, samples };
      });
    },
  };
}
