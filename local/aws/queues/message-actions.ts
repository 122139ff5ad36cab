// The actions on messages. Each batch action is its single form once per entry.

import * as z from 'zod';
import { type Action, type ActionContext, action } from './action.ts';
import { SqsError } from './errors.ts';
import {
  chosenAttributes,
  md5,
  md5OfAttributes,
  messageAttributes,
  messageBytes,
} from './message-attributes.ts';
import { messageBytesMax, queueNameFromUrl } from './queue-attributes.ts';
import type { Queue, ReceivedMessage } from './storage.ts';

const byUrl = { QueueUrl: z.string() };
const receipt = { ReceiptHandle: z.string() };
const visibility = { VisibilityTimeout: z.number().int().min(0).max(43_200) };

const outgoing = {
  MessageBody: z.string(),
  DelaySeconds: z.number().int().min(0).max(900).optional(),
  MessageAttributes: messageAttributes.default({}),
};
type Outgoing = z.output<z.ZodObject<typeof outgoing>>;

/** SQS still refuses characters that XML cannot carry, and unpaired surrogates. */
function isContent(text: string): boolean {
  return /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]+$/u.test(text);
}

const names = z.array(z.string()).default([]);
const receiveInput = z.object({
  ...byUrl,
  MaxNumberOfMessages: z.number().int().min(1).max(10).default(1),
  WaitTimeSeconds: z.number().int().min(0).max(20).optional(),
  VisibilityTimeout: visibility.VisibilityTimeout.optional(),
  MessageAttributeNames: names,
  MessageSystemAttributeNames: names,
  /** An older name of the same parameter. */
  AttributeNames: names,
});

export const messageActions: Readonly<Record<string, Action>> = {
  SendMessage: action(z.object({ ...byUrl, ...outgoing }), (context, input) => {
    const sent = send(context, queueOf(context, input), input);
    context.arrivals.announce(queueNameFromUrl(input.QueueUrl));
    return sent;
  }),

  SendMessageBatch: batch(outgoing, (context, queue, entries) => {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    if (bytes > messageBytesMax) {
      throw new SqsError(
        'BatchRequestTooLong',
        `Batch requests cannot be longer than ${messageBytesMax} bytes. You have sent ${bytes} bytes.`,
      );
    }
    const answer = eachEntry(entries, (entry) => send(context, queue, entry));
    context.arrivals.announce(queue.name);
    return answer;
  }),

  ReceiveMessage: action(receiveInput, async (context, input) => {
    const { storage, arrivals, now, signal } = context;
    const { attributes } = queueOf(context, input);
    const waitSeconds = input.WaitTimeSeconds ?? Number(attributes.ReceiveMessageWaitTimeSeconds);
    const hideSeconds = input.VisibilityTimeout ?? Number(attributes.VisibilityTimeout);
    const deadline = now() + waitSeconds * 1000;
    for (;;) {
      // Find the queue each time: it may be changed or deleted during the wait.
      const queue = queueOf(context, input);
      if (signal.aborted) return {};
      const received = storage.receive(queue, input.MaxNumberOfMessages, hideSeconds);
      if (received.length > 0) return { Messages: received.map((one) => viewMessage(one, input)) };
      const next = Math.min(deadline, storage.nextVisibleAt(queue.name) ?? deadline);
      if (now() >= deadline) return {};
      await arrivals.wait(queue.name, next - now(), signal);
    }
  }),

  DeleteMessage: action(z.object({ ...byUrl, ...receipt }), (context, input) => {
    context.storage.deleteMessage(queueOf(context, input), input.ReceiptHandle);
    return {};
  }),

  DeleteMessageBatch: batch(receipt, ({ storage }, queue, entries) =>
    eachEntry(entries, (entry) => {
      storage.deleteMessage(queue, entry.ReceiptHandle);
      return {};
    }),
  ),

  ChangeMessageVisibility: action(
    z.object({ ...byUrl, ...receipt, ...visibility }),
    (context, input) => changeVisibility(context, queueOf(context, input), input),
  ),

  ChangeMessageVisibilityBatch: batch({ ...receipt, ...visibility }, (context, queue, entries) =>
    eachEntry(entries, (entry) => changeVisibility(context, queue, entry)),
  ),
};

function queueOf({ storage }: ActionContext, { QueueUrl }: { QueueUrl: string }): Queue {
  return storage.queue(queueNameFromUrl(QueueUrl));
}

function bytesOf({ MessageBody, MessageAttributes }: Outgoing): number {
  return messageBytes(MessageBody, MessageAttributes);
}

function send({ storage }: ActionContext, queue: Queue, message: Outgoing): object {
  // "The value attribute has the same restrictions on the content as the message body."
  const texts = Object.values(message.MessageAttributes).map(({ StringValue }) => StringValue);
  if ([message.MessageBody, ...texts].some((text) => text !== undefined && !isContent(text))) {
    throw new SqsError('InvalidMessageContents', 'The text is empty or has invalid characters.');
  }
  const bytesMax = Number(queue.attributes.MaximumMessageSize);
  if (bytesOf(message) > bytesMax) {
    throw new SqsError(
      'InvalidParameterValue',
      `One or more parameters are invalid. Reason: Message must be shorter than ${bytesMax} bytes.`,
    );
  }
  const { MessageBody, MessageAttributes, DelaySeconds } = message;
  const sent = storage.send(queue, MessageBody, MessageAttributes, DelaySeconds);
  return {
    MessageId: sent.id,
    MD5OfMessageBody: sent.bodyMd5,
    MD5OfMessageAttributes: sent.attributesMd5,
  };
}

function changeVisibility(
  { storage, arrivals }: ActionContext,
  queue: Queue,
  entry: { ReceiptHandle: string; VisibilityTimeout: number },
): object {
  storage.changeVisibility(queue, entry.ReceiptHandle, entry.VisibilityTimeout);
  // Wake the waiting receivers: the message may be visible earlier than they expect.
  arrivals.announce(queue.name);
  return {};
}

function viewMessage(message: ReceivedMessage, input: z.output<typeof receiveInput>): object {
  const attributes = chosenAttributes(message.attributes, input.MessageAttributeNames);
  const system = chosenAttributes(message.systemAttributes, [
    ...input.MessageSystemAttributeNames,
    ...input.AttributeNames,
  ]);
  return {
    MessageId: message.id,
    ReceiptHandle: message.receiptHandle,
    Body: message.body,
    MD5OfBody: md5(message.body),
    ...(Object.keys(system).length > 0 && { Attributes: system }),
    ...(Object.keys(attributes).length > 0 && {
      MessageAttributes: attributes,
      MD5OfMessageAttributes: md5OfAttributes(attributes),
    }),
  };
}

type Entry<S extends z.ZodRawShape> = z.output<z.ZodObject<S>> & { readonly Id: string };

function batch<S extends z.ZodRawShape>(
  shape: S,
  run: (context: ActionContext, queue: Queue, entries: readonly Entry<S>[]) => object,
): Action {
  const entry = z.object({ Id: z.string(), ...shape });
  return action(z.object({ ...byUrl, Entries: z.array(entry).default([]) }), (context, input) => {
    const entries = input.Entries as readonly Entry<S>[];
    const queue = queueOf(context, { QueueUrl: String(input.QueueUrl) });
    checkBatch(entries.map(({ Id }) => Id));
    return run(context, queue, entries);
  });
}

function checkBatch(ids: readonly string[]): void {
  if (ids.length === 0) {
    throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  }
  if (ids.length > 10) {
    throw new SqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are 10. You have sent ${ids.length}.`,
    );
  }
  if (ids.some((id) => !/^[a-zA-Z0-9_-]{1,80}$/.test(id))) {
    throw new SqsError(
      'InvalidBatchEntryId',
      'A batch entry id may have a-z, A-Z, 0-9, - and _ only.',
    );
  }
  if (new Set(ids).size < ids.length) {
    throw new SqsError('BatchEntryIdsNotDistinct', 'duplicate batch entry id');
  }
}

/** An error of one entry fails that entry only. */
function eachEntry<E extends { readonly Id: string }>(
  entries: readonly E[],
  run: (entry: E) => object,
): object {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry.Id, ...run(entry) });
    } catch (error) {
      if (!(error instanceof SqsError)) throw error;
      const [Code] = error.queryError.split(';');
      Failed.push({ Id: entry.Id, SenderFault: true, Code, Message: error.message });
    }
  }
  return { Successful, Failed };
}
