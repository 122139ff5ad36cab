// Queues and messages in SQLite. Times are milliseconds since 1970.
//
// A message is visible from `visible_at` on. A receive hides it and gives it a new receipt; with
// the receipt it can be deleted or hidden for another time. A message that was received too often
// moves to the dead-letter queue at its next receive, as in SQS.

import { randomUUID } from 'node:crypto';
import { type Row, Sqlite } from '#local/aws/sqlite.ts';
import { queueDoesNotExist, SqsError } from './errors.ts';
import {
  type MessageAttributes,
  md5,
  md5OfAttributes,
  messageAttributes,
} from './message-attributes.ts';
import { parseRedrivePolicy, type QueueAttributes, queueArn } from './queue-attributes.ts';

// WAL with synchronous=NORMAL: a commit survives the death of the process, since the kernel has
// the pages. Only a power cut can lose the last commits, and never half a message.
const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS queues (
    name TEXT PRIMARY KEY,
    attributes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL REFERENCES queues (name) ON DELETE CASCADE,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    attributes TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    receive_count INTEGER NOT NULL DEFAULT 0,
    first_received_at INTEGER,
    receipt TEXT,
    dead_letter_source TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS messages_by_visibility ON messages (queue, visible_at, number);
`;

export interface Queue {
  readonly name: string;
  readonly attributes: QueueAttributes;
  readonly createdAtMs: number;
  readonly modifiedAtMs: number;
}

export interface ReceivedMessage {
  readonly id: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: MessageAttributes;
  readonly systemAttributes: Readonly<Record<string, string>>;
}

interface SentMessage {
  readonly id: string;
  readonly bodyMd5: string;
  readonly attributesMd5: string | undefined;
}

export class QueueStorage {
  readonly #sqlite: Sqlite;
  readonly #now: () => number;

  constructor(file: string | undefined, now: () => number) {
    this.#sqlite = new Sqlite(file, schema);
    this.#now = now;
  }

  close(): void {
    this.#sqlite.close();
  }

  createQueue(name: string, attributes: QueueAttributes): void {
    this.#sqlite.run('INSERT INTO queues VALUES (:name, :attributes, :now, :now)', {
      name,
      attributes: JSON.stringify(attributes),
      now: this.#now(),
    });
  }

  findQueue(name: string): Queue | undefined {
    const row = this.#sqlite.get('SELECT * FROM queues WHERE name = :name', { name });
    if (row === undefined) return undefined;
    return {
      name,
      attributes: JSON.parse(String(row.attributes)) as QueueAttributes,
      createdAtMs: Number(row.created_at),
      modifiedAtMs: Number(row.modified_at),
    };
  }

  /** @throws SqsError QueueDoesNotExist */
  queue(name: string): Queue {
    const queue = this.findQueue(name);
    if (queue === undefined) throw queueDoesNotExist();
    return queue;
  }

  queueNames(): string[] {
    return this.#sqlite.all('SELECT name FROM queues ORDER BY name').map((row) => String(row.name));
  }

  setAttributes(name: string, attributes: QueueAttributes): void {
    this.#sqlite.run(
      'UPDATE queues SET attributes = :attributes, modified_at = :now WHERE name = :name',
      { name, attributes: JSON.stringify(attributes), now: this.#now() },
    );
  }

  deleteQueue(name: string): void {
    this.#sqlite.run('DELETE FROM queues WHERE name = :name', { name });
  }

  purge(queue: string): void {
    this.#sqlite.run('DELETE FROM messages WHERE queue = :queue', { queue });
  }

  counts(queue: string): { visible: number; hidden: number; delayed: number } {
    const row = this.#sqlite.get(
      `SELECT COUNT(*) FILTER (WHERE visible_at <= :now) AS visible,
              COUNT(*) FILTER (WHERE visible_at > :now AND receipt IS NOT NULL) AS hidden,
              COUNT(*) FILTER (WHERE visible_at > :now AND receipt IS NULL) AS delayed
         FROM messages WHERE queue = :queue AND expires_at > :now`,
      { queue, now: this.#now() },
    );
    return {
      visible: Number(row?.visible),
      hidden: Number(row?.hidden),
      delayed: Number(row?.delayed),
    };
  }

  send(
    queue: Queue,
    body: string,
    attributes: MessageAttributes,
    delaySeconds = Number(queue.attributes.DelaySeconds),
  ): SentMessage {
    const now = this.#now();
    const id = randomUUID();
    this.#sqlite.run(
      `INSERT INTO messages (queue, id, body, attributes, sent_at, visible_at, expires_at)
       VALUES (:queue, :id, :body, :attributes, :now, :visibleAt, :expiresAt)`,
      {
        queue: queue.name,
        id,
        body,
        attributes: JSON.stringify(attributes),
        now,
        visibleAt: now + delaySeconds * 1000,
        expiresAt: now + Number(queue.attributes.MessageRetentionPeriod) * 1000,
      },
    );
    return { id, bodyMd5: md5(body), attributesMd5: md5OfAttributes(attributes) };
  }

  receive(queue: Queue, countMax: number, visibilitySeconds: number): ReceivedMessage[] {
    const now = this.#now();
    const redrive = parseRedrivePolicy(queue.attributes.RedrivePolicy);
    const received: ReceivedMessage[] = [];
    this.#sqlite.transaction(() => {
      const expired = 'DELETE FROM messages WHERE queue = :queue AND expires_at <= :now';
      this.#sqlite.run(expired, { queue: queue.name, now });
      while (received.length < countMax) {
        const row = this.#sqlite.get(
          `SELECT * FROM messages WHERE queue = :queue AND visible_at <= :now
            ORDER BY visible_at, number LIMIT 1`,
          { queue: queue.name, now },
        );
        if (row === undefined) break;
        const count = Number(row.receive_count) + 1;
        if (redrive && count > redrive.receiveCountMax && this.findQueue(redrive.deadLetterQueue)) {
          this.#moveToDeadLetters(row, redrive.deadLetterQueue);
        } else {
          received.push(this.#hide(row, count, now, visibilitySeconds));
        }
      }
    });
    return received;
  }

  /** An old receipt deletes nothing: another receiver may have the message. */
  deleteMessage(queue: Queue, receiptHandle: string): void {
    this.#sqlite.run(
      'DELETE FROM messages WHERE queue = :queue AND number = :number AND receipt = :receipt',
      { queue: queue.name, ...parseReceipt(receiptHandle) },
    );
  }

  /** @throws SqsError MessageNotInflight */
  changeVisibility(queue: Queue, receiptHandle: string, seconds: number): void {
    const now = this.#now();
    const changed = this.#sqlite.run(
      `UPDATE messages SET visible_at = :visibleAt
        WHERE queue = :queue AND number = :number AND receipt = :receipt AND visible_at > :now`,
      { queue: queue.name, ...parseReceipt(receiptHandle), now, visibleAt: now + seconds * 1000 },
    );
    if (changed === 0) {
      throw new SqsError('MessageNotInflight', 'The specified message is not in flight.');
    }
  }

  /** When the next hidden or delayed message of the queue becomes visible. */
  nextVisibleAt(queue: string): number | undefined {
    const sql = 'SELECT MIN(visible_at) AS next FROM messages WHERE queue = :queue';
    const next = this.#sqlite.get(sql, { queue })?.next;
    return typeof next === 'number' ? next : undefined;
  }

  /** Moves the messages of a dead-letter queue to the target, or each to its source; returns the
   * queues that got messages. */
  redrive(source: string, target: string | undefined): Set<string> {
    const targets = new Set<string>();
    this.#sqlite.transaction(() => {
      const sql = 'SELECT number, dead_letter_source FROM messages WHERE queue = :source';
      for (const { number, dead_letter_source } of this.#sqlite.all(sql, { source })) {
        const to = target ?? String(dead_letter_source);
        if (this.findQueue(to) === undefined) continue;
        this.#sqlite.run(
          `UPDATE messages SET queue = :to, visible_at = :now, receive_count = 0, receipt = NULL,
             first_received_at = NULL, dead_letter_source = NULL WHERE number = :number`,
          { to, now: this.#now(), number: Number(number) },
        );
        targets.add(to);
      }
    });
    return targets;
  }

  #moveToDeadLetters(row: Row, deadLetterQueue: string): void {
    this.#sqlite.run(
      `UPDATE messages SET queue = :deadLetterQueue, visible_at = :now, receipt = NULL,
         dead_letter_source = queue WHERE number = :number`,
      { deadLetterQueue, now: this.#now(), number: Number(row.number) },
    );
  }

  #hide(row: Row, count: number, now: number, visibilitySeconds: number): ReceivedMessage {
    const number = Number(row.number);
    const receipt = randomUUID();
    const firstReceivedAt = Number(row.first_received_at ?? now);
    this.#sqlite.run(
      `UPDATE messages SET visible_at = :visibleAt, receive_count = :count, receipt = :receipt,
         first_received_at = :firstReceivedAt WHERE number = :number`,
      { number, count, receipt, firstReceivedAt, visibleAt: now + visibilitySeconds * 1000 },
    );
    const source = row.dead_letter_source;
    return {
      id: String(row.id),
      receiptHandle: Buffer.from(`${number} ${receipt}`).toString('base64'),
      body: String(row.body),
      attributes: messageAttributes.parse(JSON.parse(String(row.attributes))),
      systemAttributes: {
        SenderId: 'local',
        SentTimestamp: String(row.sent_at),
        ApproximateReceiveCount: String(count),
        ApproximateFirstReceiveTimestamp: String(firstReceivedAt),
        ...(source !== null && { DeadLetterQueueSourceArn: queueArn(String(source)) }),
      },
    };
  }
}

function parseReceipt(handle: string): { number: number; receipt: string } {
  const match = /^(\d+) ([0-9a-f-]{36})$/.exec(Buffer.from(handle, 'base64').toString());
  if (match === null) {
    throw new SqsError('ReceiptHandleIsInvalid', 'The input receipt handle is invalid.');
  }
  return { number: Number(match[1]), receipt: match[2] ?? '' };
}
