// Messages that are dead-lettered while a service is away, and that an operator redrives when the
// world has moved on, by the command of docs/operations/dead-messages.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { deadLetterQueueName, type QueueName, queueName } from '#core/contracts/queues/queues.ts';
import { urlOf } from '#local/process/layout.ts';
import { startPlacement } from '#test/openstack/install/programs.ts';
import { bootHost, startApiOfNova } from '#test/openstack/nodes.ts';
import { ownProvider } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  arqsOf,
  assertHas,
  build,
  buildAtLast,
  create,
  remove,
  removeCleanly,
  untilBuilt,
} from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

export const redriven: readonly Scenario[] = [
  {
    name: 'redriven: Nova gets the event of a server that waits, and none once it is deleted',
    isLong: true,
    run: async (stage) => {
      const { cloud } = stage;
      const queue = await openQueue(stage, 'nova-events');
      // nova-compute lists the ARQs for 25 s, and then waits for an event.
      stage.setFaults({ delayMs: { prepare: 27_000 } });
      const id = await create(stage, 'vgpu');
      await eventually(
        () => arqsOf(stage, id),
        ([arq]) => arq?.state === 'BindStarted',
        60,
      );
      await queue.allowOneDelivery();
      await cloud.processes.kill('nova-api');
      const isEnd = (each: Message) => each.instance_uuid === id && !each.is_look;
      const dead = await eventually(
        () => queue.dead(),
        (messages) => messages.some(isEnd),
        120,
      );
      stage.setFaults();
      await queue.allowAll();
      await startApiOfNova(stage);
      await queue.redrive();
      await assertHas(stage, { id, ...(await untilBuilt(stage, id, 120)) }, 1);
      const events = eventsOf(stage, id);
      assert.ok(events > 0, 'the server waits for no event');
      await removeCleanly(stage, id);
      const next = await buildAtLast(stage, 'all-vgpus');
      const held = await assertHas(stage, next, 2);
      // SQS may deliver a message again.
      await queue.putDead(dead.filter(isEnd));
      await queue.redrive();
      await queue.untilEmpty();
      assert.equal(eventsOf(stage, id), events);
      assert.deepEqual(await assertHas(stage, next, 2), held);
      await removeCleanly(stage, next.id);
      return `${events} events while it waited, and none afterwards`;
    },
  },
  {
    name: 'redriven: a release cleans nothing of the server that has the vGPU after a boot',
    isLong: true,
    run: async (stage) => {
      const queue = await openQueue(stage, 'host-jobs');
      const { id } = await build(stage, 'vgpu');
      await queue.allowOneDelivery();
      await stage.system.kill('broker');
      await remove(stage, id);
      await eventually(
        () => queue.dead(),
        ({ length }) => length > 0,
        120,
      );
      await queue.allowAll();
      await stage.system.start('broker');
      await bootHost(stage);
      const next = await buildAtLast(stage, 'all-vgpus');
      const held = await assertHas(stage, next, 2);
      await queue.redrive();
      await queue.untilEmpty();
      assert.deepEqual(await assertHas(stage, next, 2), held);
      assert.equal(mdevs(stage), 2);
      await removeCleanly(stage, next.id);
      await eventually(
        async () => mdevs(stage),
        (count) => count === 0,
      );
      return '';
    },
  },
  {
    name: 'redriven: a device that was disabled without Placement is offered once it is enabled',
    run: async (stage) => {
      const { accelerator, placement } = stage.admin;
      const queue = await openQueue(stage, 'provider-syncs');
      const { devices } = (await accelerator.ask('GET', '/devices')).body;
      const device = devices.find(({ model }) => model === 'miss model info');
      await queue.allowOneDelivery();
      await stage.cloud.processes.kill('placement');
      await accelerator.ask('POST', `/devices/${device?.uuid}/disable`);
      await eventually(
        () => queue.dead(),
        ({ length }) => length > 0,
        120,
      );
      startPlacement(stage.cloud);
      await stage.cloud.processes.listening('placement', stage.cloud.plan.ports.placement);
      await queue.allowAll();
      await accelerator.ask('POST', `/devices/${device?.uuid}/enable`);
      await queue.untilEmpty();
      const path = `${ownProvider(stage, 'FakeDevice')}/inventories/FPGA`;
      const before = (await placement.ask('GET', path)).body;
      assert.equal(before.reserved, 0);
      await queue.redrive();
      await queue.untilEmpty();
      const after = (await placement.ask('GET', path)).body;
      assert.deepEqual([after.total, after.reserved], [before.total, 0]);
      const built = await build(stage, 'fpga');
      await assertHas(stage, built, 1);
      await removeCleanly(stage, built.id);
      return '';
    },
  },
];

type Message = Readonly<Record<string, unknown>>;

/** A queue of ours and its dead-letter queue. */
async function openQueue({ layout }: Stage, name: QueueName) {
  const sqs = new SQSClient({
    endpoint: urlOf(layout, 'sqs'),
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const [live, dead] = [queueName(layout.stage, name), deadLetterQueueName(layout.stage, name)];
  const urlOfQueue = async (QueueName: string) =>
    (await sqs.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl ?? '';
  const [QueueUrl, deadUrl] = [await urlOfQueue(live), await urlOfQueue(dead)];
  const attributesOf = async (url: string) => {
    const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] });
    return (await sqs.send(command)).Attributes ?? {};
  };
  const countIn = async (url: string) => {
    const attributes = await attributesOf(url);
    const visible = Number(attributes.ApproximateNumberOfMessages);
    return visible + Number(attributes.ApproximateNumberOfMessagesNotVisible);
  };
  const { RedrivePolicy = '{}' } = await attributesOf(QueueUrl);
  const set = (policy: string) =>
    sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy: policy } }));
  const arnOf = (queue: string) => `arn:aws:sqs:us-east-1:000000000000:${queue}`;
  return {
    /** In place of hundreds, which take more than an hour. */
    allowOneDelivery: () =>
      set(JSON.stringify({ ...JSON.parse(RedrivePolicy), maxReceiveCount: 1 })),
    allowAll: () => set(RedrivePolicy),
    /** As the runbook's first command shows them. */
    dead: async (): Promise<readonly Message[]> => {
      const command = { QueueUrl: deadUrl, VisibilityTimeout: 0, MaxNumberOfMessages: 10 };
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(command));
      return Messages.map(({ Body = '' }) => JSON.parse(Body));
    },
    putDead: async (messages: readonly Message[]) => {
      for (const each of messages) {
        const MessageBody = JSON.stringify(each);
        await sqs.send(new SendMessageCommand({ QueueUrl: deadUrl, MessageBody }));
      }
    },
    redrive: () =>
      sqs.send(
        new StartMessageMoveTaskCommand({ SourceArn: arnOf(dead), DestinationArn: arnOf(live) }),
      ),
    /** @throws if a message is dead-lettered again */
    untilEmpty: () =>
      eventually(
        () => countIn(QueueUrl),
        (count) => count === 0,
        120,
      ),
  };
}

/** How many external events of ours Nova has taken for the server. */
function eventsOf({ cloud }: Stage, server: string): number {
  const log = readFileSync(join(cloud.plan.directory, 'log/nova.log'), 'utf8');
  return log.split('\n').filter((line) => line.includes('Creating event') && line.includes(server))
    .length;
}

/** How many mdevs the fake hardware of the first node has. */
function mdevs({ layout, cloud }: Stage): number {
  const folder = join(layout.directory, 'agents', cloud.plan.computeHost, 'drivers/fake-hardware');
  return JSON.parse(readFileSync(join(folder, 'gpu.json'), 'utf8')).state.mdevs.length;
}
