// Rows of ARQs and of the bindings of instances.

import * as z from 'zod';
import {
  type Arq,
  type ArqBinding,
  arqStates,
  bindFailureCauses,
  bindingStates,
  type InstanceBinding,
} from '#core/domain/arq/arq.ts';
import type { ArqUuid, BindId, HandleUuid, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
import { attachTypes, preparations } from '#core/shapes/words.ts';
import { anId, camelNamed, parseRow, parseText, snakeNamed, texts } from './row-fields.ts';
import { arqKey, instanceKey, type Row } from './rows.ts';
import { duePartition, shardOf } from './shards.ts';

const storedArq = z.object({
  uuid: anId<ArqUuid>(),
  state: z.enum(arqStates),
  profile_name: z.string(),
  group_id: z.number(),
  group: z.string(),
  project_id: z.string(),
  failure: z.string().exactOptional(),
  created_by: z.string().exactOptional(),
  request_id: z.string().exactOptional(),
  created_at: z.string(),
  updated_at: z.string().exactOptional(),
});
/** Part of a bound ARQ's row. */
const storedArqBinding = z.object({
  bind_id: anId<BindId>(),
  instance_uuid: anId<InstanceUuid>(),
  hostname: z.string(),
  provider_uuid: anId<ProviderUuid>(),
});
/** Part of a bound ARQ's row, except of a failed bind. */
const storedAttachment = z.object({
  handle_uuid: anId<HandleUuid>(),
  handle_type: z.enum(attachTypes),
  handle_info: texts,
  handle_prepare: z.enum(preparations).exactOptional(),
  handle_clean_seconds: z.number().exactOptional(),
});
const storedInstance = z.object({
  instance_uuid: anId<InstanceUuid>(),
  bind_id: anId<BindId>(),
  state: z.enum(bindingStates),
  hostname: z.string(),
  project_id: z.string(),
  arq_uuids: z.array(anId<ArqUuid>()),
  profile_name: z.string().exactOptional(),
  started_at: z.string(),
  job_uuid: z.string().exactOptional(),
  boot_id: z.string().exactOptional(),
  request_id: z.string().exactOptional(),
  failure: z.string().exactOptional(),
  failure_cause: z.enum(bindFailureCauses).exactOptional(),
  is_awaited: z.boolean().exactOptional(),
  resolved_at: z.string().exactOptional(),
  is_imported: z.literal(true).exactOptional(),
  unused_since: z.string().exactOptional(),
});

export function arqRow(arq: Arq, dueAt?: string): Row {
  const { deviceProfileName, group, binding, ...fields } = arq;
  return {
    ...arqKey(arq.uuid),
    ...snakeNamed(fields),
    kind: shardOf('arq', arq.uuid),
    profile_name: deviceProfileName,
    profile_shard: shardOf(deviceProfileName, arq.uuid),
    // Text keeps the order of keys, which a DynamoDB map does not, and is shorter.
    group: JSON.stringify(group),
    ...(dueAt && unboundAttributes(arq, dueAt)),
    ...(binding && bindingAttributes(binding)),
  };
}

/** What an unbound ARQ's row has besides, and a bind removes: its deadline, and who is counted. */
export function unboundAttributes({ uuid, projectId }: Arq, dueAt: string) {
  return { due: duePartition('arq', uuid), due_at: dueAt, unbound_project: projectId };
}

export const attachmentAttributes = Object.keys(storedAttachment.shape);

/** What a bind sets on an ARQ's row, and an unbind removes from it. */
export function bindingAttributes({ attachment, ...binding }: ArqBinding): Row {
  return {
    ...snakeNamed(binding),
    handle_uuid: attachment?.handleUuid,
    handle_type: attachment?.type,
    handle_info: attachment?.info,
    handle_prepare: attachment?.prepare,
    handle_clean_seconds: attachment?.cleanSeconds,
  };
}

export function arqOf(row: Row): Arq {
  const { profile_name: deviceProfileName, group, ...fields } = parseRow(storedArq, row);
  return {
    ...camelNamed(fields),
    deviceProfileName,
    group: parseText(texts, row, group),
    ...(row.bind_id !== undefined && { binding: bindingOf(row) }),
  };
}

function bindingOf(row: Row): ArqBinding {
  const binding = camelNamed(parseRow(storedArqBinding, row));
  if (row.handle_uuid === undefined) return binding;
  const stored = parseRow(storedAttachment, row);
  return {
    ...binding,
    attachment: {
      handleUuid: stored.handle_uuid,
      type: stored.handle_type,
      info: stored.handle_info,
      ...(stored.handle_prepare && { prepare: stored.handle_prepare }),
      ...(stored.handle_clean_seconds !== undefined && {
        cleanSeconds: stored.handle_clean_seconds,
      }),
    },
  };
}

/** @param dueAt until when it must be resolved, where it is not */
export function instanceRow(binding: InstanceBinding, dueAt?: string): Row {
  return {
    ...instanceKey(binding.instanceUuid),
    ...snakeNamed(binding),
    ...(dueAt && { due: duePartition('binding', binding.instanceUuid), due_at: dueAt }),
  };
}

export function instanceOf(row: Row): InstanceBinding {
  return camelNamed(parseRow(storedInstance, row));
}
