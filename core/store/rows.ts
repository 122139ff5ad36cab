// Rows as DynamoDB holds them, and back. Attribute names are snake_case; what is undefined is left out.

import type {
  Arq,
  ArqBinding,
  Attachment,
  BindFailureCause,
  InstanceBinding,
} from '../domain/arq.ts';
import type { Attribute } from '../domain/attribute.ts';
import {
  type Deployable,
  type Device,
  type ProgramNote,
  type StatusChange,
  vendorId,
} from '../domain/device.ts';
import type { Group } from '../domain/device-profile.ts';
import type { ArqUuid, HandleUuid, InstanceUuid, ProviderUuid } from '../domain/ids.ts';
import { duePartition, shardOf } from './shards.ts';

export type Row = Record<string, unknown>;

export const arqKey = (uuid: string) => ({ pk: `ARQ#${uuid}` });
export const jobKey = (uuid: string) => ({ pk: `JOB#${uuid}` });
export const releaseKey = (id: string) => ({ pk: `RELEASE#${id}` });
export const programKey = (id: string) => ({ pk: `PROGRAM#${id}` });
export const reaperKey = () => ({ pk: 'REAPER' });
/** That a backup was put back, and of which moment it was. */
export const restoredKey = () => ({ pk: 'RESTORED', sk: 'RESTORED' });
export const instanceKey = (uuid: string) => ({ pk: `INSTANCE#${uuid}` });
export const hostKey = (hostname: string) => ({ pk: `HOST#${hostname}`, sk: 'HOST' });
export const deviceKey = (hostname: string, uuid: string) => ({
  pk: `HOST#${hostname}`,
  sk: `DEVICE#${uuid}`,
});
export const deployableKey = (provider: string) => ({ pk: `RP#${provider}`, sk: 'DEPLOYABLE' });
export const handleKey = (provider: string, uuid: string) => ({
  pk: `RP#${provider}`,
  sk: `HANDLE#${uuid}`,
});

export function arqRow(arq: Arq, dueAt?: string): Row {
  return {
    ...arqKey(arq.uuid),
    kind: shardOf('arq', arq.uuid),
    uuid: arq.uuid,
    state: arq.state,
    profile_name: arq.deviceProfileName,
    profile_shard: shardOf(arq.deviceProfileName, arq.uuid),
    group_id: arq.groupId,
    // Text keeps the order of keys, which a DynamoDB map does not, and is shorter.
    group: JSON.stringify(arq.group),
    project_id: arq.projectId,
    created_at: arq.createdAt,
    updated_at: arq.updatedAt,
    failure: arq.failure,
    ...(dueAt && { due: duePartition('arq', arq.projectId), due_at: dueAt }),
    ...(arq.binding && bindingAttributes(arq.binding)),
  };
}

/** What a bind sets on an ARQ's row, and an unbind removes from it. */
export function bindingAttributes(binding: ArqBinding): Row {
  return {
    bind_id: binding.bindId,
    instance_uuid: binding.instanceUuid,
    hostname: binding.hostname,
    provider_uuid: binding.providerUuid,
    handle_uuid: binding.attachment?.handleUuid,
    handle_type: binding.attachment?.type,
    handle_info: binding.attachment?.info,
  };
}

export function arqOf(row: Row): Arq {
  const stored = row as {
    uuid: ArqUuid;
    state: Arq['state'];
    profile_name: string;
    group_id: number;
    group: string;
    project_id: string;
    created_at: string;
    updated_at?: string;
    failure?: string;
  };
  const binding = bindingOf(row);
  return {
    uuid: stored.uuid,
    state: stored.state,
    deviceProfileName: stored.profile_name,
    groupId: stored.group_id,
    group: JSON.parse(stored.group) as Group,
    projectId: stored.project_id,
    ...(binding && { binding }),
    ...(stored.failure && { failure: stored.failure }),
    createdAt: stored.created_at,
    ...(stored.updated_at && { updatedAt: stored.updated_at }),
  };
}

function bindingOf(row: Row): ArqBinding | undefined {
  const stored = row as {
    bind_id?: ArqBinding['bindId'];
    instance_uuid: InstanceUuid;
    hostname: string;
    provider_uuid: ProviderUuid;
    handle_uuid?: HandleUuid;
    handle_type: Attachment['type'];
    handle_info: Record<string, string>;
  };
  if (!stored.bind_id) return undefined;
  return {
    bindId: stored.bind_id,
    instanceUuid: stored.instance_uuid,
    hostname: stored.hostname,
    providerUuid: stored.provider_uuid,
    ...(stored.handle_uuid && {
      attachment: {
        handleUuid: stored.handle_uuid,
        type: stored.handle_type,
        info: stored.handle_info,
      },
    }),
  };
}

/** @param dueAt until when it must be resolved, where it is not */
export function instanceRow(binding: InstanceBinding, dueAt?: string): Row {
  return {
    ...instanceKey(binding.instanceUuid),
    instance_uuid: binding.instanceUuid,
    bind_id: binding.bindId,
    state: binding.state,
    hostname: binding.hostname,
    project_id: binding.projectId,
    arq_uuids: binding.arqUuids,
    started_at: binding.startedAt,
    job_uuid: binding.jobUuid,
    boot_id: binding.bootId,
    request_id: binding.requestId,
    failure: binding.failure,
    failure_cause: binding.failureCause,
    resolved_at: binding.resolvedAt,
    unused_since: binding.unusedSince,
    ...(dueAt && { due: duePartition('binding', binding.instanceUuid), due_at: dueAt }),
  };
}

export function instanceOf(row: Row): InstanceBinding {
  const stored = row as {
    instance_uuid: InstanceUuid;
    bind_id: InstanceBinding['bindId'];
    state: InstanceBinding['state'];
    hostname: string;
    project_id: string;
    arq_uuids: ArqUuid[];
    started_at: string;
    job_uuid?: string;
    boot_id?: string;
    request_id?: string;
    failure?: string;
    failure_cause?: BindFailureCause;
    resolved_at?: string;
    unused_since?: string;
  };
  return {
    instanceUuid: stored.instance_uuid,
    bindId: stored.bind_id,
    state: stored.state,
    hostname: stored.hostname,
    projectId: stored.project_id,
    arqUuids: stored.arq_uuids,
    startedAt: stored.started_at,
    ...(stored.job_uuid && { jobUuid: stored.job_uuid }),
    ...(stored.boot_id && { bootId: stored.boot_id }),
    ...(stored.request_id && { requestId: stored.request_id }),
    ...(stored.failure && { failure: stored.failure }),
    ...(stored.failure_cause && { failureCause: stored.failure_cause }),
    ...(stored.resolved_at && { resolvedAt: stored.resolved_at }),
    ...(stored.unused_since && { unusedSince: stored.unused_since }),
  };
}

/** Where two rows are created in one moment, the uuid decides their order. */
export const creationOrder = (createdAt: string, uuid: string) => `${createdAt}#${uuid}`;

// Devices, deployables and profiles hold their fields as one map below their keys: nothing conditions
// on a part of them, and a field added later needs no codec.
export function deviceRow({
  statusChange: _change,
  conflictSince: _since,
  ...device
}: Device): Row {
  return {
    ...deviceKey(device.hostname, device.uuid),
    kind: 'device',
    uuid: device.uuid,
    created_key: creationOrder(device.createdAt, device.uuid),
    status: device.status,
    vendor_id: vendorId(device.vendor),
    device,
  };
}

export function deviceOf(row: Row): Device {
  const stored = row as {
    device: Device;
    status: Device['status'];
    status_change?: StatusChange;
    conflict_since?: string;
  };
  const { device, status, status_change: statusChange, conflict_since: conflictSince } = stored;
  return {
    ...device,
    status,
    ...(statusChange && { statusChange }),
    ...(conflictSince && { conflictSince }),
  };
}

export function deployableRow({
  addedAttributes: _attributes,
  conflictSince: _since,
  ...deployable
}: Deployable): Row {
  return {
    ...deployableKey(deployable.providerUuid),
    kind: 'deployable',
    uuid: deployable.uuid,
    created_key: creationOrder(deployable.createdAt, deployable.uuid),
    status: deployable.deviceStatus,
    deployable,
  };
}

export function deployableOf(row: Row): Deployable {
  const stored = row as {
    deployable: Deployable;
    status: Device['status'];
    program_note?: ProgramNote;
    conflict_since?: string;
  };
  const { deployable, status, program_note: program, conflict_since: conflictSince } = stored;
  const addedAttributes = Object.keys(row)
    .filter((name) => name.startsWith(attributeField('')))
    .map((name) => row[name] as Attribute);
  return {
    ...deployable,
    deviceStatus: status,
    ...(conflictSince && { conflictSince }),
    ...(program && { program }),
    ...(addedAttributes.length > 0 && { addedAttributes }),
  };
}

/** A field of its own for each, so that each is added and removed by its own condition. */
export function attributeField(uuid: string): string {
  return `attribute#${uuid}`;
}
