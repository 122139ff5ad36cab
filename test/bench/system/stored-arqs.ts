// Stores ARQs of other servers, up to a million, with the engine's own import of DynamoDB exports:
// five times as fast as BatchWriteItem, and without stream records, which the consumers would have
// to read first.

import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { marshall } from '@aws-sdk/util-dynamodb';
import { type ArqUuid, derivedUuid, type InstanceUuid, timeOrderedUuid } from '#core/domain/ids.ts';
import { arqRow, instanceRow } from '#core/store/rows/arq-rows.ts';
import type { Row } from '#core/store/rows/rows.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import { engineBinary, tableInput } from '#local/aws/dynamodb.ts';
import type { Layout } from '#local/process/layout.ts';
import { engineFile } from '#local/process/parts.ts';
import { aBinding, anArq, aProviderUuid } from '#test/support/builders.ts';

/** ARQs in one file of the export: a few megabytes. */
const fileArqsMax = 20_000;

/** Call it before the first start of the system, whose engine then finds the file. */
export function storeArqs(layout: Layout, count: number): void {
  const directory = join(layout.directory, 'export');
  const table = tableName(layout.stage, 'arqs');
  const data = join(directory, table, 'data');
  mkdirSync(data, { recursive: true });
  const schema = join(layout.directory, 'schema.json');
  const inputs = tables.map((each) => ({ Table: tableInput(layout.stage, each) }));
  writeFileSync(schema, JSON.stringify(inputs));
  for (let from = 0; from < count; from += fileArqsMax) {
    const lines: string[] = [];
    for (let index = from; index < Math.min(count, from + fileArqsMax); index++) {
      lines.push(...rowsOf(index).map(exportLine));
    }
    writeFileSync(join(data, `${from}.json.gz`), gzipSync(lines.join(''), { level: 1 }));
  }
  const paths = ['--source', directory, '--schema', schema, '--output', engineFile(layout)];
  const imported = spawnSync(engineBinary(), ['import', ...paths], { encoding: 'utf8' });
  if (imported.status !== 0) throw new Error(`The import failed: ${imported.stderr}`);
  rmSync(directory, { recursive: true });
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

function exportLine(row: Row): string {
  return `${JSON.stringify({ Item: marshall(row, { removeUndefinedValues: true }) })}\n`;
}
