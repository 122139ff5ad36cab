// A fake SQS over HTTP for the unmodified AWS client, kept in SQLite. Development only: requests
// are not authenticated. The actions are in queues/.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueNameExists,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import {
  deadLetterQueueName,
  type QueueName,
  queueName,
  queues,
  type StreamConsumerName,
  streamConsumers,
} from '#core/contracts/queues/queues.ts';
import { type HttpEngine, type ListenOptions, serve } from '#local/ports.ts';
import type { Action } from './queues/action.ts';
import { Arrivals } from './queues/arrivals.ts';
import { SqsError } from './queues/errors.ts';
import { messageActions } from './queues/message-actions.ts';
import { queueActions } from './queues/queue-actions.ts';
import { QueueStorage } from './queues/storage.ts';

const actions: Readonly<Record<string, Action>> = { ...queueActions, ...messageActions };

/** Two weeks, the longest that SQS allows: time to find a failure and to redrive. */
const deadLettersKeptSeconds = 14 * 24 * 60 * 60;

interface QueuesOptions extends Partial<ListenOptions> {
  /** SQLite file; acknowledged changes survive kill -9. Without it all is in memory. */
  readonly file?: string;
  readonly now?: () => number;
}

/** @throws PortTaken */
export async function startQueues(options: QueuesOptions = {}): Promise<HttpEngine> {
  const { host = '127.0.0.1', now = Date.now } = options;
  const storage = new QueueStorage(options.file, now);
  const arrivals = new Arrivals();
  const stopping = new AbortController();

  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const context = {
      storage,
      arrivals,
      now,
      origin: `http://${request.headers.host}`,
      signal: AbortSignal.any([gone.signal, stopping.signal]),
    };
    const target = String(request.headers['x-amz-target']).replace('AmazonSQS.', '');
    buffer(request)
      .then(async (body) => {
        const perform = actions[target];
        if (perform === undefined) {
          throw new SqsError('UnsupportedOperation', `The fake SQS does not support ${target}.`);
        }
        answer(request, response, 200, await perform(context, JSON.parse(body.toString() || '{}')));
      })
      .catch((error: unknown) => answerError(request, response, error));
  });
  const { url, port, stop } = await serve(server, { ...options, port: options.port ?? 0, host });
  return {
    url,
    port,
    stop: async () => {
      stopping.abort();
      await stop();
      storage.close();
    },
  };
}

function answerError(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (error instanceof SqsError) {
    response.setHeader('x-amzn-query-error', error.queryError);
    const type = `com.amazonaws.sqs#${error.shape}`;
    answer(request, response, 400, { __type: type, message: error.message });
  } else {
    const message = error instanceof Error ? error.message : String(error);
    answer(request, response, 500, { __type: 'com.amazonaws.sqs#InternalFailure', message });
  }
}

function answer(request: IncomingMessage, response: ServerResponse, status: number, body: object) {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': request.headers['content-type'] ?? 'application/x-amz-json-1.0',
    'content-length': bytes.length,
    'x-amzn-requestid': crypto.randomUUID(),
  });
  response.end(bytes);
}

/** Creates the stage's queues with their dead-letter queues; returns the URL of each. */
export async function createQueues(
  client: SQSClient,
  stage: string,
): Promise<Readonly<Record<QueueName, string>>> {
  const urls = await Promise.all(
    queues.map(async (row) => {
      const deadLetters = await createDeadQueue(client, stage, row.name);
      const url = await createQueue(client, queueName(stage, row.name), {
        VisibilityTimeout: `${row.visibilitySeconds}`,
        RedrivePolicy: JSON.stringify({
          deadLetterTargetArn: await arnOf(client, deadLetters),
          maxReceiveCount: row.receiveCountMax,
        }),
      });
      return [row.name, url] as const;
    }),
  );
  await Promise.all(streamConsumers.map((name) => createDeadQueue(client, stage, name)));
  return Object.fromEntries(urls) as Record<QueueName, string>;
}

function createDeadQueue(
  client: SQSClient,
  stage: string,
  name: QueueName | StreamConsumerName,
): Promise<string> {
  return createQueue(client, deadLetterQueueName(stage, name), {
    MessageRetentionPeriod: `${deadLettersKeptSeconds}`,
  });
}

/** Creates a queue. An existing queue with other attributes, of an earlier version, gets these. */
async function createQueue(
  client: SQSClient,
  name: string,
  attributes: Record<string, string>,
): Promise<string> {
  try {
    const command = new CreateQueueCommand({ QueueName: name, Attributes: attributes });
    return (await client.send(command)).QueueUrl ?? '';
  } catch (error) {
    if (!(error instanceof QueueNameExists)) throw error;
    const { QueueUrl = '' } = await client.send(new GetQueueUrlCommand({ QueueName: name }));
    await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: attributes }));
    return QueueUrl;
  }
}

async function arnOf(client: SQSClient, url: string): Promise<string> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  return Attributes?.QueueArn ?? '';
}
