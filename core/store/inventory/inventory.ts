// Devices, deployables and attach handles; hosts.ts has the hosts.

import * as z from 'zod';
import type { AttachHandle, Deployable, Device, StatusChange } from '#core/domain/device/device.ts';
import type { DevicePlan } from '#core/domain/report/device-plan.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { statusChange } from '#core/shapes/device.ts';
import { deployableRow, deviceRow } from '#core/store/rows/inventory-rows.ts';
import { parseRow } from '#core/store/rows/row-fields.ts';
import { deployableKey, deviceKey, type Row, restoredKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { queryPartition } from '#core/store/table/reads.ts';
import {
  deleteIf,
  setting,
  type TransactItem,
  transact,
  transactItemsMax,
  updateIf,
} from '#core/store/table/writes.ts';
import { forgetDigest, unknownDigest } from './digests.ts';
import {
  addHandle,
  changeHandle,
  deleteGoneHandle,
  dropHandle,
  newHandle,
  reviveHandle,
} from './handles.ts';
import { type InventoryReads, inventoryReads } from './inventory-reads.ts';
import { type MaintenanceStore, maintenanceStore } from './maintenance.ts';

export interface InventoryStore extends InventoryReads, MaintenanceStore {
  /**
   * Writes one device's rows; repeatable. The device's digest is cleared first and written last,
   * with its deployables: after a crash in between, the next report describes the device again.
   * A new device is written last, too, and until then no report counts it as known.
   * The caller holds the lease of the host's reports.
   */
  putDevice(plan: DevicePlan): Promise<void>;
  /** Writes all rows of new devices at once; repeatable. One group of {@link newDeviceGroups}. */
  putNewDevices(plans: readonly DevicePlan[]): Promise<void>;
  /** Clears the device's digest, unless a report has changed it since it was read. */
  markIncomplete(device: Device): Promise<void>;
  /**
   * Sets the status of the device and of all its providers; false if one of them is no longer
   * there.
   */
  putStatus(device: Device, change: StatusChange): Promise<boolean>;
  /** Gives a deployable its device's status, unless the status has changed since it was read. */
  copyStatus(device: Device, deployable: Deployable): Promise<void>;
  /** The moment of the backup that was restored last, ISO 8601. */
  restoredAt(): Promise<string | undefined>;
  /** Deletes handles that are gone and have neither a claim nor a release. */
  deleteGoneHandles(handles: readonly AttachHandle[]): Promise<void>;
  /** Deletes the row, unless the host has reported the deployable again. */
  deleteGoneDeployable(deployable: Deployable): Promise<void>;
  /** False if the host reports the device again, or its status has changed since it was read. */
  deleteGoneDevice(device: Device): Promise<boolean>;
}

/** The row of the last restore. */
const storedMoment = z.object({ since: z.string() });

export function inventoryStore(client: Documents, table: string): InventoryStore {
  const putDevice = async (plan: DevicePlan) => {
    const { hostname, uuid } = plan.device;
    if (!plan.isNew) await forgetDigest(client, table, hostname, uuid);
    await forEachAtOnce(plan.addHandles, (handle) => addHandle(client, table, handle));
    await forEachAtOnce(plan.reviveHandles, (handle) => reviveHandle(client, table, handle));
    await forEachAtOnce(plan.changeHandles, (handle) => changeHandle(client, table, handle));
    await forEachAtOnce(plan.dropHandles, (handle) => dropHandle(client, table, handle));
    // One transaction, with a token by which DynamoDB ignores a repetition: a late retry of a
    // plain write would bring back a deleted device, or a deployable without its device.
    await transact(client, deviceRows(table, plan));
  };
  return {
    ...inventoryReads(client, table),
    ...maintenanceStore(client, table),

    putDevice,

    async putNewDevices(plans) {
      const [first, ...others] = plans;
      const isOneTooLarge = others.length === 0 && first && rowCount(first) > transactItemsMax;
      if (!isOneTooLarge) {
        const items = plans.flatMap((plan) => [
          ...deviceRows(table, plan),
          ...plan.addHandles.map((handle) => ({ Put: newHandle(table, handle) })),
        ]);
        if ((await transact(client, items)) === 'done') return;
      }
      // Some handles are there already: of an attempt that died, or of a device that has moved.
      for (const plan of plans) await putDevice(plan);
    },

    async markIncomplete({ hostname, uuid, digest }) {
      await updateIf(client, {
        TableName: table,
        Key: deviceKey(hostname, uuid),
        UpdateExpression: 'SET device.digest = :unknown',
        ConditionExpression: 'device.digest = :known',
        ExpressionAttributeValues: { ':unknown': unknownDigest, ':known': digest },
      });
    },

    async putStatus(device, change) {
      const keys = [
        deviceKey(device.hostname, device.uuid),
        ...device.providers.map((provider) => deployableKey(provider)),
      ];
      const outcome = await transact(
        client,
        keys.map((Key) => ({
          Update: {
            TableName: table,
            Key,
            UpdateExpression: 'SET #status = :status, status_change = :change REMOVE due, due_at',
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeNames: { '#status': 'status' },
            ExpressionAttributeValues: {
              ':status': change.status,
              ':change': toWire(statusChange, change),
            },
          },
        })),
      );
      return outcome === 'done';
    },

    async copyStatus({ hostname, uuid, status }, { providerUuid }) {
      const named = {
        TableName: table,
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':status': status },
      };
      await transact(client, [
        {
          ConditionCheck: {
            ...named,
            Key: deviceKey(hostname, uuid),
            ConditionExpression: '#status = :status',
          },
        },
        {
          Update: {
            ...named,
            Key: deployableKey(providerUuid),
            UpdateExpression: 'SET #status = :status',
            ConditionExpression: 'attribute_exists(pk)',
          },
        },
      ]);
    },

    async restoredAt() {
      const [row] = await queryPartition(client, table, restoredKey().pk);
      return row && parseRow(storedMoment, row).since;
    },

    deleteGoneHandles: (handles) =>
      forEachAtOnce(handles, (handle) => deleteGoneHandle(client, table, handle)),

    async deleteGoneDeployable({ providerUuid }) {
      await deleteIf(client, {
        TableName: table,
        Key: deployableKey(providerUuid),
        ConditionExpression: 'deployable.is_gone = :gone',
        ExpressionAttributeValues: { ':gone': true },
      });
    },

    deleteGoneDevice({ hostname, uuid, status }) {
      return deleteIf(client, {
        TableName: table,
        Key: deviceKey(hostname, uuid),
        ConditionExpression: 'device.is_gone = :gone AND #status = :status',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':gone': true, ':status': status },
      });
    },
  };
}

/** Groups of new devices that fit into one transaction each; a larger device is a group alone. */
export function newDeviceGroups(plans: readonly DevicePlan[]): DevicePlan[][] {
  const groups: DevicePlan[][] = [];
  let rows = transactItemsMax;
  let seen = new Set<string>();
  for (const plan of plans) {
    rows += rowCount(plan);
    // A transaction cannot have two operations on one row.
    const isSeen = plan.deployables.some(({ providerUuid }) => seen.has(providerUuid));
    if (rows > transactItemsMax || isSeen) {
      groups.push([]);
      rows = rowCount(plan);
      seen = new Set();
    }
    groups.at(-1)?.push(plan);
    for (const { providerUuid } of plan.deployables) seen.add(providerUuid);
  }
  return groups;
}

function rowCount({ deployables, addHandles }: DevicePlan): number {
  return 1 + deployables.length + addHandles.length;
}

function deviceRows(table: string, { device, deployables }: DevicePlan): TransactItem[] {
  return [deviceRow(device), ...deployables.map(deployableRow)].map((row) => putKept(table, row));
}

/** Writes a row, but keeps a status that an operator has set, and the marks of holds. */
function putKept(TableName: string, row: Row): TransactItem {
  const { pk, sk, status, holds, is_on_hold, ...attributes } = row;
  const set = setting(attributes);
  const kept = setting({ status, holds, is_on_hold });
  const clauses = Object.keys(kept.names).map(
    (name) => `${name} = if_not_exists(${name}, ${name.replace('#', ':')})`,
  );
  return {
    Update: {
      TableName,
      Key: { pk, sk },
      UpdateExpression: [set.expression, ...clauses].join(', '),
      ExpressionAttributeNames: { ...set.names, ...kept.names },
      ExpressionAttributeValues: { ...set.values, ...kept.values },
    },
  };
}

/** Concurrent writes; the first report of a large host is some thousand rows. */
const parallelMax = 16;

async function forEachAtOnce<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < items.length; from += parallelMax) {
    await Promise.all(items.slice(from, from + parallelMax).map(work));
  }
}
