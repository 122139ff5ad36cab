// Rows of devices, of deployables and of the attributes that operators add to them. What the
// host's report says is one map of the row, so that each report replaces it whole; what operators
// and the control plane write stands beside that map.

import * as z from 'zod';
import type { Attribute } from '#core/domain/device/attribute.ts';
import { cardKey } from '#core/domain/device/card-cleaning.ts';
import {
  type ComponentNote,
  type Deployable,
  type Device,
  type ProgramGrant,
  vendorId,
} from '#core/domain/device/device.ts';
import {
  attribute,
  componentNote,
  describedDeployable,
  storedDeployable,
} from '#core/shapes/deployable.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { describedDevice, deviceState, programGrant } from '#core/shapes/device.ts';
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
  };
}

export function toDevice(row: Row): Device {
  const { device, ...state } = fromRow(storedDevice, row);
  const programs = toComponentNotes(row);
  return { ...device, ...state, ...present({ programs, grants: toGrants(row) }) };
}

export function deployableRow(deployable: Deployable): Row {
  return {
    ...deployableKey(deployable.providerUuid),
    kind: 'deployable',
    uuid: deployable.uuid,
    created_key: creationOrder(deployable.createdAt, deployable.uuid),
    status: deployable.deviceStatus,
    deployable: toWire(describedDeployable, deployable),
  };
}

export function toDeployable(row: Row): Deployable {
  const { deployable, status, programNote, ...state } = fromRow(storedDeployable, row);
  const added = Object.keys(row)
    .filter((name) => name.startsWith(attributeField('')))
    .map((name) => fromRow(attribute, row[name] as Row));
  return {
    ...deployable,
    ...state,
    deviceStatus: status,
    ...present({
      program: programNote,
      programs: toComponentNotes(row),
      addedAttributes: added.length > 0 ? added : undefined,
    }),
  };
}

/** A row attribute for the last program of each component, of the device and its deployables. */
export function componentField(component: string): string {
  return `component#${component}`;
}

function toComponentNotes(row: Row): ComponentNote[] | undefined {
  const names = Object.keys(row).filter((name) => name.startsWith(componentField('')));
  const notes = names.map((name) => fromRow(componentNote, row[name] as Row));
  return notes.length > 0 ? notes : undefined;
}

/** A row attribute for each project, so that each grant is written by itself. */
export function grantField(projectId: string): string {
  return `grant#${projectId}`;
}

function toGrants(row: Row): ProgramGrant[] | undefined {
  const names = Object.keys(row).filter((name) => name.startsWith(grantField('')));
  const grants = names.map((name) => fromRow(programGrant, row[name] as Row));
  return grants.length > 0 ? grants : undefined;
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
