import type { SQSClient } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { createDeadLetter } from '#core/clients/aws/queues.ts';

async function bodyOf(what: Parameters<ReturnType<typeof createDeadLetter>>[0]): Promise<string> {
  const bodies: string[] = [];
  const client = {
    send: async ({ input }: { input: { MessageBody: string } }) => bodies.push(input.MessageBody),
  };
  await createDeadLetter(client as unknown as SQSClient, 'url')(what);
  expect(bodies).toHaveLength(1);
  return bodies[0] ?? '';
}

it('keeps any message, in characters that SQS accepts', async () => {
  const what = { cause: 'no row', record: { name: 'é \u0000 \uFFFF \uD800 😀' } };
  const body = await bodyOf(what);
  expect(body).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(body)).toEqual(what);
});

it('keeps only the cause of a message that is too large in bytes', async () => {
  const body = await bodyOf({ cause: 'é'.repeat(5000), record: 'é'.repeat(100_000) });
  expect(JSON.parse(body)).toEqual({ cause: 'é'.repeat(1000) });
});
