import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { type AwsClientStub, mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toHandlePlace } from '#core/domain/device/handle-claim.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import { type BindingStore, bindingStore } from '#core/store/arqs/bindings.ts';
import {
  createDocuments,
  type DocumentClients,
  type Documents,
} from '#core/store/table/documents.ts';
import {
  aBinding,
  aDeployable,
  anArq,
  aProviderUuid,
  aStoredHandle,
  aTarget,
} from '#test/support/builders.ts';

const now = '2026-07-01T01:02:04.000Z';
const change = { at: now, by: 'user:1', requestId: 'req-1' };
let clients: DocumentClients;
let dynamoDb: AwsClientStub<Documents>;
let store: BindingStore;
beforeEach(() => {
  clients = createDocuments({ region: 'us-east-1' });
  // Mocks this client only: a mock of the class would affect every other test.
  dynamoDb = mockClient(clients.strong);
  dynamoDb.on(TransactWriteCommand).resolves({});
  store = bindingStore(clients.strong, { arqs: 'test-arqs', inventory: 'test-inventory' });
});
afterEach(() => {
  dynamoDb.restore();
  clients.close();
});

function transactions() {
  return dynamoDb
    .commandCalls(TransactWriteCommand)
    .map(({ args: [{ input }] }) => input.TransactItems ?? []);
}

function refusing(...codes: string[]) {
  dynamoDb.on(TransactWriteCommand).rejects(
    new TransactionCanceledException({
      $metadata: {},
      message: 'cancelled',
      CancellationReasons: codes.map((Code) => ({ Code })),
    }),
  );
}

const handle = aStoredHandle({ epoch: 7 });
const place = toHandlePlace(aDeployable());
const claim = { arq: anArq(), target: aTarget(), handle, place };
const arqKey = { pk: `ARQ#${anArq().uuid}` };
const handleKey = { pk: `RP#${aProviderUuid}`, sk: `HANDLE#${handle.uuid}` };
const instanceKey = { pk: `INSTANCE#${aBinding().instanceUuid}` };

describe('a claim', () => {
  it('is one transaction over the ARQs, their handles and the instance', async () => {
    const second = { ...claim, arq: anArq({ uuid: 'arq-2' as ArqUuid }) };
    expect(await store.claim(aBinding(), [claim, second], change)).toBe('claimed');
    const [items, ...more] = transactions();
    expect(more).toEqual([]);
    expect(items?.map((item) => item.Update?.Key ?? item.Put?.Item?.pk)).toEqual([
      arqKey,
      handleKey,
      { pk: 'ARQ#arq-2' },
      handleKey,
      instanceKey.pk,
    ]);
  });

  it('takes an ARQ only as it was read: unbound, in the same state', async () => {
    await store.claim(aBinding(), [claim], change);
    const update = transactions()[0]?.[0]?.Update;
    expect(update?.TableName).toBe('test-arqs');
    expect(update?.ConditionExpression).toBe('#state = :was');
    expect(update?.ExpressionAttributeValues?.[':was']).toBe('Initial');
    // A bound ARQ no longer has a deadline, and is not counted as unbound.
    expect(update?.UpdateExpression).toMatch(/ REMOVE due, due_at, unbound_project, failure$/);
  });

  it('takes a handle only while it is free, under the epoch that was read', async () => {
    await store.claim(aBinding(), [claim], change);
    const update = transactions()[0]?.[1]?.Update;
    expect(update).toMatchObject({
      TableName: 'test-inventory',
      Key: handleKey,
      ExpressionAttributeValues: { ':epoch': 7, ':arq': anArq().uuid },
    });
    const condition = update?.ConditionExpression ?? '';
    for (const part of [
      'epoch = :epoch',
      'attribute_not_exists(arq_uuid)',
      'attribute_not_exists(is_gone)',
    ]) {
      expect(condition.split(' AND ')).toContain(part);
    }
  });

  it('takes an instance only without a binding', async () => {
    await store.claim(aBinding(), [claim], change);
    expect(transactions()[0]?.[2]?.Put).toMatchObject({
      TableName: 'test-arqs',
      Item: { ...instanceKey, bind_id: aBinding().bindId },
      ConditionExpression: 'attribute_not_exists(pk)',
    });
  });

  it('that lost against another returns "contended", without an error', async () => {
    refusing('None', 'ConditionalCheckFailed', 'None');
    expect(await store.claim(aBinding(), [claim], change)).toBe('contended');
  });

  it('that failed for any other reason throws', async () => {
    refusing('None', 'ValidationError', 'None');
    await expect(store.claim(aBinding(), [claim], change)).rejects.toThrow('cancelled');
  });
});

describe('a release', () => {
  const binding = aBinding();
  const bound: BoundArq = {
    ...anArq({ state: 'Bound' }),
    binding: {
      bindId: binding.bindId,
      instanceUuid: binding.instanceUuid,
      hostname: binding.hostname,
      providerUuid: aProviderUuid,
      attachment: { handleUuid: handle.uuid, type: handle.type, info: handle.info },
    },
  };
  const unboundUntil = '2026-07-01T01:17:04.000Z';
  const release = { arqs: [bound], fate: 'deleted', left: [], change, unboundUntil } as const;

  it('ends the claim of this binding, not of a later one', async () => {
    expect(await store.release(binding, release)).toBe('released');
    const [items] = transactions();
    expect(items?.[0]?.Delete).toMatchObject({ Key: arqKey });
    expect(items?.[2]?.Delete).toMatchObject({
      Key: instanceKey,
      ConditionExpression: 'bind_id = :bind AND #state = :was AND arq_uuids = :were',
      ExpressionAttributeValues: {
        ':bind': binding.bindId,
        ':was': binding.state,
        ':were': binding.arqUuids,
      },
    });
  });

  it('frees the handle under a new epoch', async () => {
    await store.release(binding, release);
    const update = transactions()[0]?.[1]?.Update;
    expect(update).toMatchObject({ Key: handleKey, ExpressionAttributeValues: { ':one': 1 } });
    expect(update?.UpdateExpression).toContain('ADD epoch :one');
    expect(update?.UpdateExpression).toContain('REMOVE arq_uuid, instance_uuid');
  });

  it('removes the binding from an ARQ that is kept', async () => {
    await store.release(binding, { ...release, fate: 'unbound' });
    const update = transactions()[0]?.[0]?.Update;
    for (const attribute of [
      'bind_id',
      'instance_uuid',
      'hostname',
      'handle_uuid',
      'handle_info',
    ]) {
      expect(update?.UpdateExpression?.split(' REMOVE ')[1]).toContain(attribute);
    }
    expect(update?.ExpressionAttributeValues).toMatchObject({
      ':state': 'Unbound',
      ':unbound_project': 'project-1',
    });
  });

  it('of some ARQs keeps the instance with the others', async () => {
    const other = 'arq-2' as ArqUuid;
    await store.release(binding, { ...release, left: [other] });
    expect(transactions()[0]?.[2]?.Update).toMatchObject({
      Key: instanceKey,
      UpdateExpression: 'SET arq_uuids = :left',
      ConditionExpression: 'bind_id = :bind AND #state = :was AND arq_uuids = :were',
      ExpressionAttributeValues: { ':left': [other], ':were': binding.arqUuids },
    });
  });

  it('that lost against another release returns "contended", without an error', async () => {
    refusing('ConditionalCheckFailed', 'None', 'None');
    expect(await store.release(binding, release)).toBe('contended');
  });
});
