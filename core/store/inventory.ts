// Hosts, devices, deployables and attach handles.

import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { StoredProvider } from '../domain/bind-plan.ts';
import type { AttachHandle, Deployable, Device, Presence, StatusChange } from '../domain/device.ts';
import type { ProviderUuid } from '../domain/ids.ts';
import type { DevicePlan, StoredHost } from '../domain/inventory-plan.ts';
import type { Documents } from './documents.ts';
import { queryPartition } from './reads.ts';
import {
  deployableKey,
  deployableOf,
  deployableRow,
  deviceKey,
  deviceOf,
  deviceRow,
  handleKey,
  handleOf,
  handleRow,
  hostKey,
  type Row,
} from './rows.ts';
import { held, setting, transact, updateIf } from './writes.ts';

export interface HostInventory {
  readonly host: StoredHost;
  readonly devices: readonly Device[];
}

export interface InventoryStore {
  /** A provider's deployable with all its handles, in one consistent read. */
  provider(uuid: ProviderUuid): Promise<StoredProvider | undefined>;
  /** A host that never reported is there too, empty. */
  host(hostname: string): Promise<HostInventory>;
  /** True if nobody else works on the host's reports until `until`; ISO 8601. */
  takeLease(hostname: string, holder: string, now: string, until: string): Promise<boolean>;
  endLease(hostname: string, holder: string): Promise<void>;
  /** Writes one device's rows; repeatable. The device's own row goes last: it says all is there. */
  putDevice(plan: DevicePlan, reportOrder: number): Promise<void>;
  /** Sets the status of the device and of all its providers; false if one of them is no longer there. */
  putStatus(device: Device, change: StatusChange): Promise<boolean>;
  /** What the host last reported. Goes after its devices, so that a crash makes the report count as new. */
  putReport(host: StoredHost): Promise<void>;
  /** False if what is stored is no longer `known`. */
  putPresence(hostname: string, presence: Presence, known: Presence | undefined): Promise<boolean>;
  /** Deletes handles that are gone and free. */
  deleteGoneHandles(handles: readonly AttachHandle[]): Promise<void>;
  /** Deletes rows that are still gone. */
  deleteGoneDeployable(deployable: Deployable): Promise<void>;
  deleteGoneDevice(device: Device): Promise<void>;
}

export function inventoryStore(client: Documents, table: string): InventoryStore {
  return {
    async provider(uuid) {
      return storedProvider(await queryPartition(client, table, `RP#${uuid}`));
    },

    async host(hostname) {
      const rows = await queryPartition(client, table, `HOST#${hostname}`);
      const hostRow = rows.find((row) => row.sk === 'HOST');
      return {
        host: hostOf(hostname, hostRow),
        devices: rows.filter((row) => String(row.sk).startsWith('DEVICE#')).map(deviceOf),
      };
    },

    takeLease(hostname, holder, now, until) {
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET lease_holder = :holder, lease_until = :until',
        ConditionExpression:
          'attribute_not_exists(lease_until) OR lease_until < :now OR lease_holder = :holder',
        ExpressionAttributeValues: { ':holder': holder, ':now': now, ':until': until },
      });
    },

    async endLease(hostname, holder) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'REMOVE lease_holder, lease_until',
        ConditionExpression: 'lease_holder = :holder',
        ExpressionAttributeValues: { ':holder': holder },
      });
    },

    async putDevice(plan, reportOrder) {
      await eachOf(plan.addHandles, (handle) => addHandle(client, table, handle));
      await eachOf(plan.reviveHandles, (handle) => reviveHandle(client, table, handle));
      await eachOf(plan.dropHandles, (handle) => dropHandle(client, table, handle));
      await eachOf(plan.deployables, (deployable) =>
        putKept(client, table, deployableRow(deployable)),
      );
      await putKept(client, table, deviceRow(plan.device, reportOrder), {
        condition: 'attribute_not_exists(report_order) OR report_order <= :report_order',
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
            UpdateExpression: 'SET #status = :status, status_change = :change',
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeNames: { '#status': 'status' },
            ExpressionAttributeValues: { ':status': change.status, ':change': change },
          },
        })),
      );
      return outcome === 'done';
    },

    async putReport(host) {
      const set = setting({
        hostname: host.hostname,
        boot_id: host.bootId,
        epoch: host.epoch,
        sequence: host.sequence,
        agent_version: host.agentVersion,
        last_report_at: host.lastReportAt,
        last_received_ms: host.lastReceivedAtMs,
        wanted: host.wanted,
      });
      await updateIf(client, {
        TableName: table,
        Key: hostKey(host.hostname),
        UpdateExpression: set.expression,
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: set.values,
      });
    },

    putPresence(hostname, presence, known) {
      const set = setting({ hostname, presence });
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: set.expression,
        ConditionExpression: known ? 'presence = :known' : 'attribute_not_exists(presence)',
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ...(known && { ':known': known }) },
      });
    },

    deleteGoneHandles: (handles) =>
      eachOf(handles, (handle) => deleteGoneHandle(client, table, handle)),

    async deleteGoneDeployable(deployable) {
      await deleteIf(
        client,
        table,
        deployableKey(deployable.providerUuid),
        'deployable.isGone = :gone',
      );
    },

    async deleteGoneDevice(device) {
      await deleteIf(
        client,
        table,
        deviceKey(device.hostname, device.uuid),
        'device.isGone = :gone',
      );
    },
  };
}

/** The rows of a provider's partition; handles without their deployable are on their way out. */
function storedProvider(rows: readonly Row[]): StoredProvider | undefined {
  const deployable = rows.find((row) => row.sk === 'DEPLOYABLE');
  return (
    deployable && {
      deployable: deployableOf(deployable),
      handles: rows.filter((row) => String(row.sk).startsWith('HANDLE#')).map(handleOf),
    }
  );
}

function hostOf(hostname: string, row: Row = {}): StoredHost {
  const stored = row as {
    boot_id?: string;
    epoch?: number;
    sequence?: number;
    agent_version?: string;
    last_report_at?: string;
    last_received_ms?: number;
    wanted?: Record<string, string>;
    presence?: Presence;
  };
  return {
    hostname,
    ...(stored.boot_id && { bootId: stored.boot_id }),
    epoch: stored.epoch ?? 0,
    sequence: stored.sequence ?? -1,
    ...(stored.agent_version && { agentVersion: stored.agent_version }),
    ...(stored.last_report_at && { lastReportAt: stored.last_report_at }),
    lastReceivedAtMs: stored.last_received_ms ?? 0,
    wanted: stored.wanted ?? {},
    ...(stored.presence && { presence: stored.presence }),
  };
}

/** Writes a row but keeps a status that an operator has set. */
async function putKept(
  client: Documents,
  table: string,
  row: Row,
  { condition }: { condition?: string } = {},
): Promise<void> {
  const { pk, sk, status, ...attributes } = row;
  const set = setting(attributes);
  await updateIf(client, {
    TableName: table,
    Key: { pk, sk },
    UpdateExpression: `${set.expression}, #status = if_not_exists(#status, :status)`,
    ...(condition && { ConditionExpression: condition }),
    ExpressionAttributeNames: { ...set.names, '#status': 'status' },
    ExpressionAttributeValues: { ...set.values, ':status': status },
  });
}

async function addHandle(client: Documents, table: string, handle: AttachHandle): Promise<void> {
  await held(
    client.send(
      new PutCommand({
        TableName: table,
        Item: handleRow(handle),
        ConditionExpression: 'attribute_not_exists(pk)',
      }),
    ),
  );
}

async function reviveHandle(client: Documents, table: string, handle: AttachHandle): Promise<void> {
  const revived = await updateIf(client, {
    TableName: table,
    Key: handleKey(handle.providerUuid, handle.uuid),
    UpdateExpression: 'REMOVE is_gone',
    ConditionExpression: 'attribute_exists(pk)',
  });
  if (!revived) await addHandle(client, table, { ...handle, isGone: false });
}

/** Marks first, so that no claim comes in between; a handle in use goes when its claim ends. */
async function dropHandle(client: Documents, table: string, handle: AttachHandle): Promise<void> {
  const marked = await updateIf(client, {
    TableName: table,
    Key: handleKey(handle.providerUuid, handle.uuid),
    UpdateExpression: 'SET is_gone = :gone',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: { ':gone': true },
  });
  if (marked) await deleteGoneHandle(client, table, handle);
}

async function deleteGoneHandle(client: Documents, table: string, handle: AttachHandle) {
  const key = handleKey(handle.providerUuid, handle.uuid);
  await deleteIf(client, table, key, 'is_gone = :gone AND attribute_not_exists(arq_uuid)');
}

async function deleteIf(
  client: Documents,
  table: string,
  key: Record<string, string>,
  condition: string,
): Promise<boolean> {
  return held(
    client.send(
      new DeleteCommand({
        TableName: table,
        Key: key,
        ConditionExpression: condition,
        ExpressionAttributeValues: { ':gone': true },
      }),
    ),
  );
}

/** Writes at once to the engine; a first report of a large host is some thousand rows. */
const parallelMax = 16;

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += parallelMax) {
    await Promise.all(items.slice(from, from + parallelMax).map(work));
  }
}
