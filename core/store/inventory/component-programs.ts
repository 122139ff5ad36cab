// Programs of components: what the rows of a device and of its deployables have of them.

import type { ChangeNote } from '#core/domain/change-note.ts';
import type { ComponentNote, Device, StatusChange } from '#core/domain/device/device.ts';
import type { DeviceHealth } from '#core/domain/device/device-health.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { componentNote } from '#core/shapes/deployable.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { changeNote } from '#core/shapes/derive/fields.ts';
import { statusChange, storedHealth } from '#core/shapes/device.ts';
import type { BindingTables } from '#core/store/arqs/binding-items.ts';
import { workKey, workRow } from '#core/store/rows/host-work-rows.ts';
import { componentField } from '#core/store/rows/inventory-rows.ts';
import { deployableKey, deviceKey, handleKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { type TransactItem, transact, transactItemsMax } from '#core/store/table/writes.ts';
import { unknownDigest } from './digests.ts';
import { keepHandle } from './regions.ts';

/** The device's row, and those of its deployables that exist. */
export type DeviceRows = Pick<Device, 'hostname' | 'uuid'> & {
  readonly providers: readonly ProviderUuid[];
};

export interface ComponentProgramStore {
  /**
   * Reserves all handles of the device until the program is confirmed, and disables the device
   * where `change` is given. All or none: false if a handle is not free, or the device's status
   * has changed since it was read.
   *
   * @param drained the program that has waited for the handles, which this one replaces
   */
  start(
    device: Device & Pick<DeviceRows, 'providers'>,
    program: HostProgram,
    note: ComponentNote,
    change: StatusChange | undefined,
    dueAt: string,
    drained?: HostProgram,
  ): Promise<boolean>;
  /**
   * Stores what became of the program, and the device's new status where `change` is given; all
   * or none. False if the note is of a newer program, the work has ended or been replaced, or the
   * status is no longer the program's.
   *
   * @param health why no bind takes the device until its host has described it again
   */
  note(
    program: HostProgram,
    device: DeviceRows,
    note: ComponentNote,
    change?: StatusChange,
    health?: DeviceHealth,
  ): Promise<boolean>;
  /** Puts the next work in the place of the old, for the same handles; all or none. */
  replace(old: HostProgram, next: HostProgram, dueAt: string): Promise<boolean>;
  /**
   * Frees the handles of a program that awaits a power cycle, stores the note, and deletes the
   * work; all or none. False if the host is asked for it, has ended it, or has been asked again.
   */
  giveUp(
    program: HostProgram,
    device: DeviceRows,
    note: ComponentNote,
    change: ChangeNote,
  ): Promise<boolean>;
  /** Takes a program whose device awaits a power cycle off the list of what is due. */
  await(program: HostProgram): Promise<void>;
}

/** The most deployables and handles of a device, beside two programs and the device's row. */
export const rowsPerComponentProgramMax = transactItemsMax - 3;

export function componentProgramStore(
  client: Documents,
  tables: BindingTables,
): ComponentProgramStore {
  const TableName = tables.inventory;
  /** The first is the device's own row, whose condition holds for all. */
  const eachRow = (
    { hostname, uuid, providers }: DeviceRows,
    note: ComponentNote,
    change: StatusChange | undefined,
    condition: Pick<
      NonNullable<TransactItem['Update']>,
      'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
    >,
    health?: DeviceHealth,
  ): TransactItem[] => {
    const status = change ? ', #status = :status, status_change = :change' : '';
    const set = `SET #note = :note${status}`;
    const update = {
      TableName,
      ExpressionAttributeNames: {
        '#note': componentField(note.component),
        ...(change && { '#status': 'status' }),
      },
      ExpressionAttributeValues: {
        ':note': toWire(componentNote, note),
        ...(change && { ':status': change.status, ':change': toWire(statusChange, change) }),
      },
    };
    const { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } = condition;
    return [
      {
        Update: {
          ...update,
          Key: deviceKey(hostname, uuid),
          UpdateExpression: health
            ? `${set}, device.health = :health, device.digest = :unknown`
            : set,
          ConditionExpression,
          ExpressionAttributeNames: {
            ...update.ExpressionAttributeNames,
            ...ExpressionAttributeNames,
          },
          ExpressionAttributeValues: {
            ...update.ExpressionAttributeValues,
            ...ExpressionAttributeValues,
            ...(health && { ':health': toWire(storedHealth, health), ':unknown': unknownDigest }),
          },
        },
      },
      ...providers.map((provider) => ({
        Update: {
          ...update,
          Key: deployableKey(provider),
          UpdateExpression: health ? `${set}, deployable.unhealthy = :unhealthy` : set,
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: {
            ...update.ExpressionAttributeValues,
            ...(health && { ':unhealthy': health.reason }),
          },
        },
      })),
    ];
  };
  const deletion = (work: HostProgram): TransactItem => ({
    Delete: {
      TableName: tables.arqs,
      Key: workKey(work),
      ConditionExpression: 'attribute_exists(pk)',
    },
  });
  return {
    async start(device, program, note, change, dueAt, drained) {
      const unchanged = {
        ConditionExpression: '#status = :was',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':was': device.status },
      };
      const outcome = await transact(client, [
        ...(drained ? [deletion(drained)] : []),
        { Put: { TableName: tables.arqs, Item: workRow(program, dueAt) } },
        ...eachRow(device, note, change, unchanged),
        ...program.handles.map((handle) => keepHandle(TableName, handle, program)),
      ]);
      return outcome === 'done';
    },

    async note(program, device, note, change, health) {
      const isOwn = change ? ' AND status_change.program = :id' : '';
      const condition = {
        ConditionExpression: `#note.id = :id${isOwn}`,
        ExpressionAttributeValues: { ':id': note.id },
      };
      const outcome = await transact(client, [
        {
          ConditionCheck: {
            TableName: tables.arqs,
            Key: workKey(program),
            ConditionExpression: 'attribute_exists(pk)',
          },
        },
        ...eachRow(device, note, change, condition, health),
      ]);
      return outcome === 'done';
    },

    async replace(old, next, dueAt) {
      const outcome = await transact(client, [
        deletion(old),
        { Put: { TableName: tables.arqs, Item: workRow(next, dueAt) } },
        ...next.handles.map(({ providerUuid, handleUuid }) => ({
          Update: {
            TableName,
            Key: handleKey(providerUuid, handleUuid),
            UpdateExpression: 'SET release_id = :next REMOVE quarantine, quarantined_at',
            ConditionExpression: 'release_id = :old',
            ExpressionAttributeValues: { ':old': old.id, ':next': next.id },
          },
        })),
      ]);
      return outcome === 'done';
    },

    async giveUp(program, device, note, change) {
      const unchanged = {
        ConditionExpression: '#note.id = :id',
        ExpressionAttributeValues: { ':id': note.id },
      };
      const outcome = await transact(client, [
        {
          Delete: {
            TableName: tables.arqs,
            Key: workKey(program),
            // A boot has put work that is due in its place.
            ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(due)',
          },
        },
        ...eachRow(device, note, undefined, unchanged),
        ...program.handles.map(({ providerUuid, handleUuid }) => ({
          Update: {
            TableName,
            Key: handleKey(providerUuid, handleUuid),
            UpdateExpression: 'SET last_change = :change REMOVE release_id',
            ConditionExpression: 'release_id = :release',
            ExpressionAttributeValues: {
              ':release': program.id,
              ':change': toWire(changeNote, change),
            },
          },
        })),
      ]);
      return outcome === 'done';
    },

    async await(program) {
      await transact(client, [
        {
          Update: {
            TableName: tables.arqs,
            Key: workKey(program),
            UpdateExpression: 'REMOVE due, due_at',
            ConditionExpression: 'attribute_exists(pk)',
          },
        },
      ]);
    },
  };
}
