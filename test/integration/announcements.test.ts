// Domain events on EventBridge, through the streams, the deployed consumers and the unmodified AWS
// client.

import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { type EventType, eventDetails, eventSource } from '#core/contracts/events.ts';
import { streamConsumers } from '#core/contracts/queues/queues.ts';
import { toHandlePlace } from '#core/domain/device/handle-claim.ts';
import { type ArqUuid, providerUuid } from '#core/domain/ids.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { instanceRow } from '#core/store/rows/arq-rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { aBinding, aTarget, instanceOf } from '#test/support/builders.ts';
import { aDevice } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

let isAway = false;
const world = perFile(() =>
  startWorld({ consumers: true, eventsFail: () => (isAway ? 'InternalFailure' : undefined) }),
);
const provider = providerUuid('cmp1_FakeDevice');

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [aDevice({ handles: 4 })]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

async function bind(instance: string): Promise<ArqUuid> {
  return (await world.createBound('fpga', { provider, instance }))[0];
}

/** Details of the announced events of a type that have the value `about` in any field. */
function told(type: EventType, about: string) {
  return world.announced
    .filter((event) => event['detail-type'] === type)
    .map(({ detail }) => detail)
    .filter((detail) => Object.values(detail).includes(about));
}

describe('EventBridge receives an event', () => {
  it('of a device that its host starts to report', async () => {
    await eventually(() => told('Device added', 'cmp1')).toMatchObject([
      { hostname: 'cmp1', address: '0000:0c:00.0', type: 'FPGA', provider_uuids: [provider] },
    ]);
  });

  it('of an ARQ that is bound, and of its release', async () => {
    const instance = instanceOf(1);
    const arq = await bind(instance);
    await eventually(() => told('ARQ bound', arq)).toMatchObject([
      { instance_uuid: instance, hostname: 'cmp1', how: 'at-once', took_ms: 0 },
    ]);
    const [bound] = told('ARQ bound', arq);
    expect(bound?.request_id).toMatch(/^req-/);
    await world.deleteArqsOf(instance);
    await eventually(() => told('ARQ released', arq)).toMatchObject([
      { instance_uuid: instance, was: 'Bound', bind_id: bound?.bind_id },
    ]);
  });

  it('of a failed bind, with the reason', async () => {
    const { arqs, bindings, inventory } = world.deps.store;
    const [uuid] = await world.createArqs('fpga');
    const arq = (await arqs.byUuids([uuid])).get(uuid);
    const stored = await inventory.provider(provider);
    const [handle] = stored?.handles ?? [];
    if (!arq || !stored || !handle) throw new Error('The ARQ or a handle is missing.');
    const instanceUuid = instanceOf(2);
    const bindId = 'bbbbbbbb-0000-4000-8000-000000000001' as const;
    const binding = aBinding({
      instanceUuid,
      bindId: bindId as never,
      state: 'BindStarted',
      arqUuids: [uuid],
      startedAt: new Date().toISOString(),
    });
    const target = aTarget({ arqUuid: uuid, instanceUuid });
    const place = toHandlePlace(stored.deployable);
    const change = { at: binding.startedAt, by: 'user:1' };
    await bindings.claim(binding, [{ arq, target, handle, place }], change);
    await failBind(world.deps, binding, { cause: 'image', reason: 'The image does not exist.' });
    await eventually(() => told('ARQ failed', uuid)).toMatchObject([
      { cause: 'image', reason: 'The image does not exist.' },
    ]);
    await world.deleteArqsOf(instanceUuid);
  });

  it('of a device that is ill, and well again', async () => {
    const health = { state: 'degraded', reason: 'is hot', since: '2026-11-01T00:00:00Z' } as const;
    await world.report('cmp9', [aDevice({ health })]);
    await world.report('cmp9', [aDevice()]);
    await eventually(() => told('Device health changed', 'cmp9')).toMatchObject([
      { state: 'degraded', reason: 'is hot', since: '2026-11-01T00:00:00Z' },
      { state: 'healthy' },
    ]);
  });

  it('of a gone device', async () => {
    await world.report('cmp1', []);
    await eventually(() => told('Device removed', 'cmp1')).toMatchObject([{ hostname: 'cmp1' }]);
    await world.report('cmp1', [aDevice({ handles: 4 })]);
    await eventually(() => told('Device added', 'cmp1')).toHaveLength(2);
  });

  it('as docs/events.md documents it, with an id of its own', () => {
    for (const event of world.announced) {
      expect(event.source).toBe(eventSource);
      const schema = eventDetails[event['detail-type'] as EventType];
      expect(schema.parse(event.detail)).toEqual(event.detail);
      expect(Math.abs(Date.parse(event.time) - Date.now())).toBeLessThan(10 * 60_000);
    }
    const ids = world.announced.map(({ detail }) => detail.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('while EventBridge is away', () => {
  it('the history goes on, and the events follow when it is back', async () => {
    isAway = true;
    const arq = await bind(instanceOf(3));
    const other = aDevice({ address: '0000:0d:00.0', provider_suffix: 'Other' });
    await world.report('cmp1', [aDevice({ handles: 4 }), other]);
    // The reader that binds depend on has followed both streams up to this change.
    const { placement } = world.deps.clients;
    await eventually(() => placement.getProvider(providerUuid('cmp1_Other'))).toBeDefined();
    expect((await world.deleteArqsOf(instanceOf(3))).status).toBe(204);
    const kinds = async () => {
      const { json } = await world.ask('GET', `/operator/v1/history?arq=${arq}&order=oldest-first`);
      return json.history.map(({ kind }) => kind);
    };
    await eventually(kinds).toEqual(['arq.created', 'handle.claimed', 'handle.released']);
    expect(told('ARQ bound', arq)).toEqual([]);
    isAway = false;
    // The queue in which they waited keeps no order.
    await eventually(() => told('ARQ released', arq)).toHaveLength(1);
    await eventually(() => told('ARQ bound', arq)).toHaveLength(1);
    await eventually(() => told('Device added', '0000:0d:00.0')).toHaveLength(1);
  });
});

describe('an unreadable row', () => {
  it('is dead-lettered with its cause by both readers, and does not block the rows behind it', async () => {
    const { arq_uuids, ...damaged } = instanceRow(aBinding({ instanceUuid: instanceOf(9) }));
    const { documents } = createDocuments();
    await documents.send(new PutCommand({ TableName: 'test-arqs', Item: damaged }));
    const arq = await bind(instanceOf(4));
    await eventually(() => told('ARQ bound', arq)).toHaveLength(1);
    const sqs = new SQSClient();
    for (const reader of streamConsumers) {
      const QueueUrl = world.deps.settings.deadQueueUrls[reader];
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 10 }),
      );
      expect(JSON.parse(Messages[0]?.Body ?? '{}')).toMatchObject({
        cause: expect.stringContaining('arq_uuids: '),
        record: { dynamodb: { Keys: { pk: { S: `INSTANCE#${instanceOf(9)}` } } } },
      });
    }
    sqs.destroy();
  });
});
