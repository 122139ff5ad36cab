// A fake EventBridge: PutEvents only, for the unmodified AWS client. Each event becomes one line
// of a file, in the form in which AWS delivers it to a target. Development only: requests are not
// authenticated, and there are no rules.
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html

import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { json } from 'node:stream/consumers';
import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { type HttpEngine, type ListenOptions, serve } from '#local/ports.ts';

/** An event as the target of a rule gets it. */
export interface DeliveredEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface EventsOptions extends ListenOptions {
  /** Events are appended to it; without it no event is kept. */
  readonly file?: string;
  readonly onEvent?: (event: DeliveredEvent, bus: string) => void;
  /** Returns an error code of EventBridge for an entry that is to fail. */
  readonly fails?: (entry: Entry) => string | undefined;
}

const entriesMax = 10;
const requestBytesMax = 256 * 1024;

const entry = z.object({
  EventBusName: z.string().default('default'),
  Source: z.string().min(1).optional(),
  DetailType: z.string().min(1).max(128).optional(),
  Detail: z.string().optional(),
  Resources: z.array(z.string()).default([]),
  /** Seconds since 1970. */
  Time: z.number().optional(),
});
export type Entry = z.infer<typeof entry>;
const request = z.object({ Entries: z.array(entry).min(1).max(entriesMax) });

/** @throws PortTaken */
export async function startEvents(options: EventsOptions): Promise<HttpEngine> {
  const { file, onEvent, fails } = options;
  if (file !== undefined) mkdirSync(dirname(file), { recursive: true });

  function put(input: unknown): object {
    const { Entries } = request.parse(input);
    const bytes = Entries.reduce((sum, each) => sum + bytesOf(each), 0);
    if (bytes > requestBytesMax)
      throw new TypeError(`The entries have ${bytes} bytes, more than 256 KB.`);
    const answers = Entries.map((each) => {
      const code = fails?.(each) ?? faultOf(each);
      return code
        ? { ErrorCode: code, ErrorMessage: 'The entry was refused.' }
        : { EventId: keep(each) };
    });
    const FailedEntryCount = answers.filter((answer) => 'ErrorCode' in answer).length;
    return { FailedEntryCount, Entries: answers };
  }

  /** EventBridge also accepts an entry for a missing bus, and drops it silently. */
  function keep(each: Entry): string {
    const event = deliveredEvent(each);
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(event)}\n`);
    onEvent?.(event, each.EventBusName);
    return event.id;
  }

  const server = createServer((incoming, response) => {
    const target = incoming.headers['x-amz-target'];
    json(incoming)
      .then((input) => {
        if (target === 'AWSEvents.PutEvents') answer(response, 200, put(input));
        else answer(response, 400, { __type: 'UnknownOperationException', message: `${target}` });
      })
      .catch((error: Error) =>
        answer(response, 400, { __type: 'ValidationException', message: error.message }),
      );
  });
  return await serve(server, options);
}

function faultOf({ Source, DetailType, Detail }: Entry): string | undefined {
  if (!Source || !DetailType || Detail === undefined) return 'InvalidArgument';
  const detail = parseJson(Detail);
  const isObject = typeof detail === 'object' && detail !== null && !Array.isArray(detail);
  return isObject ? undefined : 'MalformedDetail';
}

function bytesOf({ Source = '', DetailType = '', Detail = '', Resources, Time }: Entry): number {
  const texts = [Source, DetailType, Detail, ...Resources];
  return (Time === undefined ? 0 : 14) + Buffer.byteLength(texts.join(''));
}

function deliveredEvent({ Source, DetailType, Detail, Resources, Time }: Entry): DeliveredEvent {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': DetailType ?? '',
    source: Source ?? '',
    account: '000000000000',
    time: `${new Date((Time ?? Date.now() / 1000) * 1000).toISOString().slice(0, 19)}Z`,
    region: 'us-east-1',
    resources: Resources,
    detail: JSON.parse(Detail ?? '{}') as Record<string, unknown>,
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.1',
    'x-amzn-requestid': randomUUID(),
  });
  response.end(JSON.stringify(body));
}
