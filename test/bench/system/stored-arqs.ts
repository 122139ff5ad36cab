// ARQs of other servers.

import { type ArqUuid, derivedUuid, type InstanceUuid, timeOrderedUuid } from '#core/domain/ids.ts';
import { arqRow, instanceRow } from '#core/store/rows/arq-rows.ts';
import type { Row } from '#core/store/rows/rows.ts';
import { aBinding, anArq, aProviderUuid } from '#test/support/builders.ts';
import type { StoredRow } from './stored-rows.ts';

export function* otherArqs(count: number): Generator<StoredRow> {
  for (let index = 0; index < count; index++) {
    for (const row of rowsOf(index)) yield { table: 'arqs', row };
  }
}

/** Every other ARQ is bound for an instance of its own. */
function rowsOf(index: number): Row[] {
  const createdMs = Date.now() - 1000;
  const createdAt = new Date(createdMs).toISOString();
  const uuid = timeOrderedUuid(createdMs, crypto.getRandomValues(new Uint8Array(10))) as ArqUuid;
  const projectId = `project-${index % 100}`;
  if (index % 2 === 0) {
    // A deadline far in the future: the sweep has nothing to do during the measurement.
    const dueAt = new Date(createdMs + 24 * 3600 * 1000).toISOString();
    return [arqRow(anArq({ uuid, projectId, createdAt }), dueAt)];
  }
  const instanceUuid = crypto.randomUUID() as InstanceUuid;
  const binding = aBinding({ instanceUuid, projectId, arqUuids: [uuid], startedAt: createdAt });
  const arq = anArq({
    uuid,
    state: 'Bound',
    projectId,
    createdAt,
    updatedAt: createdAt,
    binding: {
      bindId: binding.bindId,
      instanceUuid,
      hostname: binding.hostname,
      providerUuid: aProviderUuid,
      attachment: {
        handleUuid: derivedUuid('handle', String(index)) as never,
        type: 'TEST_PCI',
        info: { domain: '0000', bus: '0c', device: '0', function: '1' },
      },
    },
  });
  return [arqRow(arq), instanceRow(binding)];
}
