import { join } from 'node:path';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { startQueues } from '#local/aws/queues.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';
import { sqsAt } from './clients.ts';
import { startProcess } from './engine-process.ts';

const directory = directoryPerFile();
const file = join(directory, 'sqs.db');

it('keeps every acknowledged message when its process is killed under load', async () => {
  const engine = await startProcess(`
    import { startQueues } from '#local/aws/queues.ts';
    const engine = await startQueues({ file: ${JSON.stringify(file)} });
    console.log(engine.url);
  `);
  const sqs = sqsAt(engine.said);
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'work' }));

  const acknowledged = new Set<string>();
  const asked = new Set<string>();
  const deleted = new Set<string>();
  const senders = Array.from({ length: 4 }, async (_, sender) => {
    for (let at = 0; ; at += 1) {
      const body = `${sender}-${at}`;
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
      acknowledged.add(body);
    }
  });
  const receiver = (async () => {
    for (;;) {
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
      for (const { ReceiptHandle, Body = '' } of Messages) {
        asked.add(Body);
        await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
        deleted.add(Body);
      }
    }
  })();
  const ended = Promise.allSettled([...senders, receiver]);
  await eventually(() => acknowledged.size).toBeGreaterThan(200);
  await engine.killHard();
  await ended;

  // A later clock, at which messages in flight at the crash are visible again.
  const again = await startQueues({ file, now: () => Date.now() + 60_000 });
  const later = sqsAt(again.url);
  const found = new Set<string>();
  for (;;) {
    const { Messages = [] } = await later.send(
      new ReceiveMessageCommand({
        QueueUrl: QueueUrl?.replace(engine.said, again.url),
        MaxNumberOfMessages: 10,
      }),
    );
    if (Messages.length === 0) break;
    for (const { Body = '' } of Messages) found.add(Body);
  }
  await again.stop();
  sqs.destroy();
  later.destroy();

  // The last delete may have succeeded although its answer was lost.
  expect([...acknowledged].filter((body) => !found.has(body) && !asked.has(body))).toEqual([]);
  expect([...deleted].filter((body) => found.has(body))).toEqual([]);
});
