// States in which an upgrade of the cloud may find servers: rows and messages as one release
// writes them, for the next one to go on with.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect } from 'vitest';
import { tableName, tables } from '#core/store/table/tables.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { bootIdOf, instanceOf } from './builders.ts';
import { VgpuHost } from './hosts/recorded/vgpu-host.ts';
import { stage, type World } from './world.ts';

export interface Recorded {
  /** When it was recorded; ISO 8601. */
  readonly at: string;
  readonly rows: readonly { readonly table: string; readonly row: Record<string, unknown> }[];
  readonly messages: readonly { readonly queue: string; readonly body: unknown }[];
  /** Jobs that the host has not answered, by what they are for. */
  readonly jobs: { readonly bind: string; readonly release: string };
  /** An ARQ that is not bound. */
  readonly unbound: string;
  /** What the host's next report has to name. */
  readonly boot: { readonly boot_id: string; readonly sequence: number };
}

/** Instances of the servers: one has its vGPU, one waits for it, one is deleted. */
export const [bound, starting, deleted] = [instanceOf(1), instanceOf(2), instanceOf(3)];

/** What the states send. */
const awaited = ['host-jobs bind', 'host-jobs release', 'nova-events', 'provider-syncs'];

/** Tables of state; the others' rows may be lost in an upgrade. */
const stateful = ['arqs', 'inventory', 'device-profiles'];

const documents = () =>
  DynamoDBDocumentClient.from(new DynamoDBClient(), {
    unmarshallOptions: { wrapNumbers: false },
    marshallOptions: { removeUndefinedValues: true },
  });

type Message = Recorded['messages'][number];

/** Keeps a copy of each message that this release's code sends, until `end`. */
export function copyMessages(): { readonly messages: readonly Message[]; end(): void } {
  const messages: Message[] = [];
  const send = SQSClient.prototype.send;
  const keep = (url = '', body = '') => {
    messages.push({ queue: url.split(`/${stage}-`).at(-1) ?? '', body: JSON.parse(body) });
  };
  SQSClient.prototype.send = function (this: SQSClient, ...given: unknown[]) {
    const [command] = given;
    if (command instanceof SendMessageCommand)
      keep(command.input.QueueUrl, command.input.MessageBody);
    if (command instanceof SendMessageBatchCommand) {
      for (const { MessageBody } of command.input.Entries ?? [])
        keep(command.input.QueueUrl, MessageBody);
    }
    return Reflect.apply(send, this, given);
  } as typeof send;
  const end = () => {
    SQSClient.prototype.send = send;
  };
  return { messages, end };
}

/** Plays the states on a world whose streams are consumed, and records them. */
export async function recordStates(world: World): Promise<Recorded> {
  const { messages, end } = copyMessages();
  try {
    return { ...(await play(world, messages)), messages: [...kindsOf(messages).values()] };
  } finally {
    end();
  }
}

async function play(world: World, sent: Recorded['messages']): Promise<Omit<Recorded, 'messages'>> {
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
  const host = new VgpuHost(world);
  await host.bootAfresh();
  await host.bound();
  await host.started();
  const [bind = ''] = host.jobs.keys();
  host.jobs.clear();
  const last = await host.started();
  // Without a service token the list does not wait, and Nova gets an event.
  const path = `/v2/accelerator_requests?instance=${last.instance}`;
  await world.ask('GET', path, { token: 'demo-token' });
  await host.end('bind');
  await host.remove(last.instance);
  await host.startReleases();
  const [release = ''] = host.jobs.keys();
  const [unbound] = await world.createArqs('vgpu');
  const { boots, sequence } = host.counts;
  await eventually(() => [...kindsOf(sent).keys()]).toEqual(expect.arrayContaining(awaited));
  return {
    at: new Date().toISOString(),
    jobs: { bind, release },
    unbound,
    boot: { boot_id: bootIdOf(boots), sequence },
    rows: await allRows(),
  };
}

/** The last message of each queue and kind. */
function kindsOf(messages: Recorded['messages']): Map<string, Recorded['messages'][number]> {
  return new Map(
    messages.map((each) => {
      const { kind } = each.body as { kind?: string };
      return [kind ? `${each.queue} ${kind}` : each.queue, each];
    }),
  );
}

export async function allRows(): Promise<Recorded['rows']> {
  const known = tables.filter(({ name }) => stateful.includes(name));
  const pages = await Promise.all(
    known.map(async ({ name }) => {
      const { Items = [] } = await documents().send(
        new ScanCommand({ TableName: tableName(stage, name) }),
      );
      return Items.map((row) => ({ table: name, row }));
    }),
  );
  return pages.flat();
}

/** Puts the rows into the tables of this world, as if they had been recorded a moment ago. */
export async function loadRows({ rows, at }: Recorded): Promise<void> {
  const laterMs = Date.now() - Date.parse(at);
  const moved = (text: string) => new Date(Date.parse(text) + laterMs).toISOString();
  for (const { table, row } of rows) {
    const TableName = tableName(stage, table as (typeof tables)[number]['name']);
    const Item = JSON.parse(JSON.stringify(row).replaceAll(timestamps, moved));
    await documents().send(new PutCommand({ TableName, Item }));
  }
}

const timestamps = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
