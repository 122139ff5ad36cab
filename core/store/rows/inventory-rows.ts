// Rows of devices, of deployables and of the attributes that operators add to them. What the
// host's report says is one map of the row, so that each report replaces it whole; what operators
// and the control plane write stands beside that map.

import * as z from 'zod';
import type { Attribute } from '#core/domain/device/attribute.ts';
import { cardKey } from '#core/domain/device/card-cleaning.ts';
import { type Deployable, type Device, vendorId } from '#core/domain/device/device.ts';
import {
  type BaselineKey,
  baselineId,
  type FirmwareBaseline,
} from '#core/domain/device/firmware/firmware-baselines.ts';
import {
  attribute,
  componentNote,
  describedDeployable,
  storedDeployable,
} from '#core/shapes/deployable.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  describedDevice,
  deviceState,
  firmwareBaseline,
  holdMark,
  programGrant,
} from '#core/shapes/device.ts';
import { fromRow } from './row-fields.ts';
import { creationOrder, deployableKey, deviceKey, type Row } from './rows.ts';

const storedDevice = z.object({ device: describedDevice, ...deviceState.shape });

export function deviceRow(device: Device): Row {
  return {
    ...deviceKey(device.hostname, device.uuid),
    kind: 'device',
    uuid: device.uuid,
    created_key: creationOrder(device.createdAt, device.uuid),
    status: device.status,
    vendor_id: vendorId(device.vendor),
    card: cardKey(device),
    device: toWire(describedDevice, device),
    holds: device.holds?.map((each) => toWire(holdMark, each)),
  };
}

export function toDevice(row: Row): Device {
  const { device, ...state } = fromRow(storedDevice, row);
  return {
    ...device,
    ...state,
    ...present({
      programs: readFields(row, componentField(''), componentNote),
      grants: readFields(row, grantField(''), programGrant),
    }),
  };
}

export function deployableRow(deployable: Deployable): Row {
  return {
    ...deployableKey(deployable.providerUuid),
    kind: 'deployable',
    uuid: deployable.uuid,
    created_key: creationOrder(deployable.createdAt, deployable.uuid),
    status: deployable.deviceStatus,
    is_on_hold: deployable.isOnHold,
    deployable: toWire(describedDeployable, deployable),
  };
}

export function toDeployable(row: Row): Deployable {
  const { deployable, status, programNote, ...state } = fromRow(storedDeployable, row);
  return {
    ...deployable,
    ...state,
    deviceStatus: status,
    ...present({
      program: programNote,
      programs: readFields(row, componentField(''), componentNote),
      addedAttributes: readFields(row, attributeField(''), attribute),
    }),
  };
}

/** A row attribute for the last program of each component, of the device and its deployables. */
export function componentField(component: string): string {
  return `component#${component}`;
}

export const baselinePrefix = 'baseline#';

/** A row attribute for each baseline, so that each is set and removed by itself. */
export function baselineField(key: BaselineKey): string {
  return `${baselinePrefix}${baselineId(key)}`;
}

export function toBaselines(row: Row): FirmwareBaseline[] {
  return readFields(row, baselinePrefix, firmwareBaseline) ?? [];
}

/** The attributes of the row whose names begin so, in no order; undefined if there is none. */
export function readFields<Shape extends z.ZodObject>(row: Row, prefix: string, shape: Shape) {
  const names = Object.keys(row).filter((name) => name.startsWith(prefix));
  return names.length > 0 ? names.map((name) => fromRow(shape, row[name] as Row)) : undefined;
}

/** A row attribute for each project, so that each grant is written by itself. */
export function grantField(projectId: string): string {
  return `grant#${projectId}`;
}

/**
 * A row attribute for each added attribute, so that each is added and removed by its own
 * condition.
 */
export function attributeField(uuid: string): string {
  return `attribute#${uuid}`;
}

export function attributeValue(added: Attribute): Row {
  return toWire(attribute, added);
}
