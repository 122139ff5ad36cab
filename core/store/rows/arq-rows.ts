// Rows of ARQs and of the bindings of instances.

import * as z from 'zod';
import type { Arq, ArqBinding, InstanceBinding } from '#core/domain/arq/arq.ts';
import { arqBinding, arqFields, attachment, instanceBinding } from '#core/shapes/arq.ts';
import { toWholeWire, toWire } from '#core/shapes/derive/case.ts';
import { texts } from '#core/shapes/derive/fields.ts';
import { present } from '#core/shapes/derive/present.ts';
import { fromRow, parseText } from './row-fields.ts';
import { arqKey, instanceKey, type Row } from './rows.ts';
import { duePartition, shardFor } from './shards.ts';

const storedArq = arqFields.extend({
  profile_name: z.string(),
  group: z.string(),
  alternatives: z.string().exactOptional(),
});

export function arqRow(arq: Arq, dueAt?: string): Row {
  const { deviceProfileName, group, alternatives, binding } = arq;
  return {
    ...arqKey(arq.uuid),
    ...toWire(arqFields, arq),
    kind: shardFor('arq', arq.uuid),
    profile_name: deviceProfileName,
    profile_shard: shardFor(deviceProfileName, arq.uuid),
    // Text keeps the order of keys, which a DynamoDB map does not, and is shorter.
    group: JSON.stringify(group),
    ...(alternatives && { alternatives: JSON.stringify(alternatives) }),
    ...(dueAt && unboundAttributes(arq, dueAt)),
    ...(binding && bindingAttributes(binding)),
  };
}

/** What an unbound ARQ's row has besides, and a bind removes: its deadline. */
export function unboundAttributes({ uuid }: Arq, dueAt: string) {
  return { due: duePartition('arq', uuid), due_at: dueAt };
}

/** Attributes of a bound ARQ's row, except of a failed bind, by the names of the handle's. */
const attributeOf = new Map(Object.keys(attachment.shape).map((name) => [name, `handle_${name}`]));
export const attachmentAttributes = [...attributeOf.values()];

/** What a bind sets on an ARQ's row, and an unbind removes from it. */
export function bindingAttributes({ attachment: held, ...binding }: ArqBinding): Row {
  const handle: Row = held ? toWholeWire(attachment, { ...held, uuid: held.handleUuid }) : {};
  return {
    ...toWire(arqBinding, binding),
    ...Object.fromEntries([...attributeOf].map(([name, attribute]) => [attribute, handle[name]])),
  };
}

export function toArq(row: Row): Arq {
  const {
    profileName: deviceProfileName,
    group,
    alternatives,
    ...fields
  } = fromRow(storedArq, row);
  return {
    ...fields,
    deviceProfileName,
    group: parseText(texts, row, group),
    ...(alternatives && { alternatives: parseText(z.array(texts), row, alternatives) }),
    ...present({ binding: row.bind_id === undefined ? undefined : toBinding(row) }),
  };
}

function toBinding(row: Row): ArqBinding {
  const binding = fromRow(arqBinding, row);
  if (row.handle_uuid === undefined) return binding;
  const handle = [...attributeOf].map(([name, attribute]) => [name, row[attribute]]);
  const { uuid: handleUuid, ...held } = fromRow(
    attachment,
    present({ pk: row.pk, ...Object.fromEntries(handle) }),
  );
  return { ...binding, attachment: { handleUuid, ...held } };
}

/** @param dueAt until when it must be resolved, where it is not */
export function instanceRow(binding: InstanceBinding, dueAt?: string): Row {
  return {
    ...instanceKey(binding.instanceUuid),
    ...toWire(instanceBinding, binding),
    ...(dueAt && { due: duePartition('binding', binding.instanceUuid), due_at: dueAt }),
  };
}

export function toInstance(row: Row): InstanceBinding {
  return fromRow(instanceBinding, row);
}
