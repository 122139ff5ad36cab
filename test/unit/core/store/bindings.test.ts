import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, expect, it } from 'vitest';
import { toHandlePlace } from '#core/domain/device/handle-claim.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import { type BindingStore, bindingStore } from '#core/store/arqs/bindings.ts';
import { arqRow } from '#core/store/rows/arq-rows.ts';
import { handleRow } from '#core/store/rows/handle-rows.ts';
import { instanceKey, type Row } from '#core/store/rows/rows.ts';
import {
  aBinding,
  aDeployable,
  anArq,
  aProviderUuid,
  aStoredHandle,
  aTarget,
} from '#test/support/builders.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startTables } from './local-tables.ts';

const tables = { arqs: 'test-arqs', inventory: 'test-inventory' };
const at = '2026-07-01T01:02:04.000Z';
const change = { at, by: 'user:1', requestId: 'req-1' };
const unboundUntil = '2026-07-01T01:17:04.000Z';
const clients = perFile(startTables);
const arq = anArq({ state: 'Unbound', failure: 'no power' });
const unbound = arqRow(arq, unboundUntil);
const handle = aStoredHandle({ epoch: 7 });
const free = handleRow(handle);
const binding = aBinding();
const claim = { arq, target: aTarget(), handle, place: toHandlePlace(aDeployable()) };
const held = { handleUuid: handle.uuid, type: handle.type, info: handle.info };
const bound: BoundArq = {
  ...arq,
  state: 'Bound',
  projectId: binding.projectId,
  binding: { ...claim.target, bindId: binding.bindId, attachment: held },
};
let store: BindingStore;

const put = (TableName: string, Item: Row) =>
  clients.documents.send(new PutCommand({ TableName, Item }));

async function rowAt(TableName: string, { pk, sk }: Row) {
  const Key = { pk, ...(sk !== undefined && { sk }) };
  return (await clients.documents.send(new GetCommand({ TableName, Key }))).Item;
}

beforeEach(async () => {
  store = bindingStore(clients.strong, tables);
  await put(tables.arqs, unbound);
  await put(tables.inventory, free);
  await store.release(binding, {
    arqs: [],
    fate: 'deleted',
    left: [],
    change,
    unboundUntil,
  });
  expect(await store.claim(binding, [claim], change)).toBe('claimed');
});

it('a claim leaves an ARQ no deadline, no failure, and does not count it as unbound', async () => {
  const row = await rowAt(tables.arqs, unbound);
  for (const key of ['due', 'due_at', 'unbound_project', 'failure']) {
    expect(row).not.toHaveProperty(key);
  }
});

it('an unbind leaves the rows as they were, with the handle under a new epoch', async () => {
  const release = { arqs: [bound], fate: 'unbound', left: [], change, unboundUntil } as const;
  expect(await store.release(binding, release)).toBe('released');
  const { failure, ...healthy } = unbound;
  const projectId = { project_id: binding.projectId };
  expect(await rowAt(tables.arqs, unbound)).toEqual({ ...healthy, ...projectId, updated_at: at });
  const last_change = expect.objectContaining({ at });
  expect(await rowAt(tables.inventory, free)).toEqual({ ...free, epoch: 8, last_change });
  expect(await rowAt(tables.arqs, instanceKey(binding.instanceUuid))).toBeUndefined();
  expect(await store.release(binding, release)).toBe('contended');
});

it('a claim that meets another is contended, and one that DynamoDB refuses throws', async () => {
  expect(await store.claim(binding, [claim], change)).toBe('contended');
  const large = { ...claim, place: { ...claim.place, hostname: 'x'.repeat(500_000) } };
  await put(tables.arqs, unbound);
  await put(tables.inventory, free);
  const another = { ...binding, instanceUuid: aProviderUuid as never };
  await expect(store.claim(another, [large], change)).rejects.toThrow('cancelled');
});
