// Rows of devices, of deployables and of the attributes that operators add to them. What the
// host's report says is one map of the row, so that each report replaces it whole; what operators
// and the control plane write stands beside that map.

import * as z from 'zod';
import type { Attribute } from '../domain/attribute.ts';
import { cardOf } from '../domain/card-cleaning.ts';
import {
  attachTypes,
  type Deployable,
  type Device,
  deviceStatuses,
  deviceTypes,
  programStates,
  vendorId,
} from '../domain/device.ts';
import { healthStates } from '../domain/device-facts.ts';
import type { DeployableUuid, DeviceUuid, ProviderUuid } from '../domain/ids.ts';
import { regionKinds } from '../domain/region-kinds.ts';
import { anId, camelNamed, parseRow, snakeNamed } from './row-fields.ts';
import { creationOrder, deployableKey, deviceKey, type Row } from './rows.ts';

const storedDevice = z.object({
  device: z.object({
    uuid: anId<DeviceUuid>(),
    hostname: z.string(),
    address: z.string(),
    driver: z.string(),
    type: z.enum(deviceTypes),
    vendor: z.string(),
    product: z.string(),
    model: z.string(),
    std_board_info: z.string().exactOptional(),
    vendor_board_info: z.string().exactOptional(),
    identity: z.string().exactOptional(),
    numa_node: z.number().exactOptional(),
    pcie_root: z.string().exactOptional(),
    firmware: z.string().exactOptional(),
    health: z
      .object({
        ...{ state: z.enum(healthStates), reason: z.string(), since: z.string() },
        healthy_since: z.string().exactOptional(),
      })
      .exactOptional(),
    digest: z.string(),
    providers: z.array(anId<ProviderUuid>()),
    adopted: z
      .array(
        z.object({
          uuid: anId<ProviderUuid>(),
          name: z.string(),
          traits: z.array(z.string()),
          address: z.string().exactOptional(),
        }),
      )
      .exactOptional(),
    card_cleaning: z
      .object({
        withheld_since: z.string().exactOptional(),
        held_at: z.object({ hostname: z.string(), address: z.string() }).exactOptional(),
        asked_at: z.string().exactOptional(),
        cleaned_at: z.string().exactOptional(),
      })
      .exactOptional(),
    is_gone: z.boolean(),
    handle_count: z.number().exactOptional(),
    host_attach_types: z.array(z.enum(attachTypes)).exactOptional(),
    created_at: z.string(),
    updated_at: z.string().exactOptional(),
  }),
  status: z.enum(deviceStatuses),
  status_change: z
    .object({
      status: z.enum(deviceStatuses),
      by: z.string(),
      at: z.string(),
      reason: z.string().exactOptional(),
      request_id: z.string().exactOptional(),
      drain: z.literal(true).exactOptional(),
      until: z.string().exactOptional(),
    })
    .exactOptional(),
  forced: z
    .object({
      by: z.string(),
      at: z.string(),
      is_cleaned: z.boolean(),
      reason: z.string().exactOptional(),
    })
    .exactOptional(),
  conflict_since: z.string().exactOptional(),
});

const storedDeployable = z.object({
  deployable: z.object({
    uuid: anId<DeployableUuid>(),
    provider_uuid: anId<ProviderUuid>(),
    parent_provider_uuid: anId<ProviderUuid>().exactOptional(),
    device_uuid: anId<DeviceUuid>(),
    hostname: z.string(),
    name: z.string(),
    region: z.string().exactOptional(),
    region_kind: z.enum(regionKinds).exactOptional(),
    driver: z.string(),
    resource_class: z.string().exactOptional(),
    num_accelerators: z.number(),
    attach_types: z.array(z.enum(attachTypes)).exactOptional(),
    host_attach_types: z.array(z.enum(attachTypes)).exactOptional(),
    traits: z.array(z.string()),
    bitstream_id: z.string().exactOptional(),
    region_type_uuid: z.string().exactOptional(),
    function_uuids: z.array(z.string()).exactOptional(),
    reported_attributes: z.record(z.string(), z.string()).exactOptional(),
    unhealthy: z.string().exactOptional(),
    is_gone: z.boolean(),
    created_at: z.string(),
    updated_at: z.string().exactOptional(),
  }),
  status: z.enum(deviceStatuses),
  program_note: z
    .object({
      image: z.string(),
      by: z.string(),
      at: z.string(),
      state: z.enum(programStates),
      reason: z.string().exactOptional(),
    })
    .exactOptional(),
  conflict_since: z.string().exactOptional(),
});

const storedAttribute = z.object({
  uuid: z.string(),
  deployable_uuid: z.string(),
  key: z.string(),
  value: z.string(),
  is_reported: z.boolean(),
  created_at: z.string(),
});

export function deviceRow(device: Device): Row {
  const {
    status,
    statusChange: _change,
    forced: _forced,
    conflictSince: _since,
    ...reported
  } = device;
  return {
    ...deviceKey(device.hostname, device.uuid),
    kind: 'device',
    uuid: device.uuid,
    created_key: creationOrder(device.createdAt, device.uuid),
    status,
    vendor_id: vendorId(device.vendor),
    card: cardOf(device),
    device: {
      ...snakeNamed(reported),
      ...(reported.health && { health: snakeNamed(reported.health) }),
      ...(reported.cardCleaning && { card_cleaning: snakeNamed(reported.cardCleaning) }),
    },
  };
}

export function deviceOf(row: Row): Device {
  const stored = parseRow(storedDevice, row);
  const { device, status, status_change: change, forced, conflict_since: conflictSince } = stored;
  const { health, card_cleaning: cleaning, ...fields } = device;
  return {
    ...camelNamed(fields),
    ...(health && { health: camelNamed(health) }),
    ...(cleaning && { cardCleaning: camelNamed(cleaning) }),
    status,
    ...(change && { statusChange: camelNamed(change) }),
    ...(forced && { forced: camelNamed(forced) }),
    ...(conflictSince && { conflictSince }),
  };
}

export function deployableRow(deployable: Deployable): Row {
  const {
    deviceStatus,
    program: _program,
    addedAttributes: _attributes,
    conflictSince: _since,
    ...reported
  } = deployable;
  return {
    ...deployableKey(deployable.providerUuid),
    kind: 'deployable',
    uuid: deployable.uuid,
    created_key: creationOrder(deployable.createdAt, deployable.uuid),
    status: deviceStatus,
    deployable: snakeNamed(reported),
  };
}

export function deployableOf(row: Row): Deployable {
  const stored = parseRow(storedDeployable, row);
  const { deployable, status, program_note: program, conflict_since: conflictSince } = stored;
  const addedAttributes = Object.keys(row)
    .filter((name) => name.startsWith(attributeField('')))
    .map((name) => camelNamed(parseRow(storedAttribute, row[name] as Row)));
  return {
    ...camelNamed(deployable),
    deviceStatus: status,
    ...(conflictSince && { conflictSince }),
    ...(program && { program }),
    ...(addedAttributes.length > 0 && { addedAttributes }),
  };
}

/**
 * A row attribute for each added attribute, so that each is added and removed by its own
 * condition.
 */
export function attributeField(uuid: string): string {
  return `attribute#${uuid}`;
}

export function attributeValue(attribute: Attribute): Row {
  return snakeNamed(attribute);
}
