// Statuses of devices on the condition that no other change came first, and drains of hosts, with
// the end that an operator has named.

import type { Device, StatusChange } from '#core/domain/device/device.ts';
import type { Drain } from '#core/domain/host/host-state.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { offeredTwice, statusChange as statusChangeShape } from '#core/shapes/device.ts';
import { drain as drainShape } from '#core/shapes/host.ts';
import type { Row } from '#core/store/rows/rows.ts';
import { deployableKey, deviceKey, hostKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { setOrRemove, transact, updateIf } from '#core/store/table/writes.ts';

/** Devices change seldom, so one partition of the index holds them all. */
export const drainDue = 'maintenance';

/** Where a device's row is. */
export interface DevicePlace {
  readonly hostname: string;
  readonly uuid: string;
}

export interface MaintenanceStore {
  /**
   * Sets or removes the mark of a device that another service offers, too, and that of its
   * providers; false if one of the rows is no longer there.
   */
  markOfferedTwice(
    device: Pick<Device, 'hostname' | 'uuid'>,
    providers: readonly ProviderUuid[],
    mark: Device['offeredTwice'],
  ): Promise<boolean>;
  /**
   * Sets the status of the device and of its given providers; false if the status has changed
   * since the device was read, or one of the rows is no longer there.
   */
  changeStatus(device: Device, change: StatusChange): Promise<boolean>;
  /** Stores that the host takes no new binds; of several drains the last one counts. */
  putDrain(hostname: string, drain: Drain): Promise<void>;
  /** Ends the drain that began at `at`, and no later one. */
  endDrain(hostname: string, at: string): Promise<void>;
}

export function maintenanceStore(client: Documents, table: string): MaintenanceStore {
  return {
    async markOfferedTwice({ hostname, uuid }, providers, mark) {
      const row = mark && toWire(offeredTwice, mark);
      const copy = setOrRemove(table, 'offered_twice', mark?.name);
      const outcome = await transact(client, [
        setOrRemove(table, 'offered_twice', row)(deviceKey(hostname, uuid)),
        ...providers.map((each) => copy(deployableKey(each))),
      ]);
      return outcome === 'done';
    },

    async putDrain(hostname, drain) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET drain = :drain',
        // The host may be forgotten meanwhile, or drained by another request.
        ConditionExpression:
          'attribute_exists(pk) AND (attribute_not_exists(drain) OR drain.#at <= :at)',
        ExpressionAttributeNames: { '#at': 'at' },
        ExpressionAttributeValues: { ':drain': toWire(drainShape, drain), ':at': drain.at },
      });
    },

    async endDrain(hostname, at) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'REMOVE drain',
        ConditionExpression: 'drain.#at = :at',
        ExpressionAttributeNames: { '#at': 'at' },
        ExpressionAttributeValues: { ':at': at },
      });
    },

    async changeStatus({ hostname, uuid, providers, status, statusChange }, change) {
      const set = 'SET #status = :status, status_change = :change';
      const due = { ':due': drainDue, ':until': change.until };
      const values = { ':status': change.status, ':change': toWire(statusChangeShape, change) };
      const names = { '#status': 'status' };
      const outcome = await transact(client, [
        {
          Update: {
            TableName: table,
            Key: deviceKey(hostname, uuid),
            UpdateExpression: change.until
              ? `${set}, due = :due, due_at = :until`
              : `${set} REMOVE due, due_at`,
            ConditionExpression: statusChange
              ? '#status = :was AND status_change.#at = :at'
              : '#status = :was AND attribute_not_exists(status_change)',
            ExpressionAttributeNames: { ...names, ...(statusChange && { '#at': 'at' }) },
            ExpressionAttributeValues: {
              ...values,
              ':was': status,
              ...present({ ':at': statusChange?.at }),
              ...(change.until && due),
            },
          },
        },
        ...providers.map((provider) => ({
          Update: {
            TableName: table,
            Key: deployableKey(provider),
            UpdateExpression: set,
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeNames: names,
            ExpressionAttributeValues: values,
          },
        })),
      ]);
      return outcome === 'done';
    },
  };
}

/** @param row of the index by deadline, which holds keys */
export function toDevicePlace({ pk, sk }: Row): DevicePlace {
  return {
    hostname: String(pk).slice('HOST#'.length),
    uuid: String(sk).slice('DEVICE#'.length),
  };
}
