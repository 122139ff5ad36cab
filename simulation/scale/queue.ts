import type { QueueRow } from '#core/contracts/queues/queues.ts';
import type { Timeline } from './timeline.ts';

export interface Work<Message> {
  /** Duration of a delivery of the message, in seconds. */
  readonly seconds: (message: Message) => number;
  /** Undefined if the message is done; otherwise the seconds until its next attempt. */
  readonly end: (message: Message, attempt: number) => number | undefined;
}

interface Waiting<Message> {
  readonly message: Message;
  readonly attempt: number;
}

/** A queue and its function, with the numbers of its row in the table of queues. */
export class ConsumedQueue<Message> {
  /** The largest number of messages at once, hidden or not. */
  deepest = 0;
  dead = 0;
  #held = 0;
  #running = 0;
  readonly #ready: Waiting<Message>[] = [];
  readonly #timeline: Timeline;
  readonly #row: QueueRow;
  readonly #work: Work<Message>;

  constructor(timeline: Timeline, row: QueueRow, work: Work<Message>) {
    this.#timeline = timeline;
    this.#row = row;
    this.#work = work;
  }

  send(message: Message): void {
    this.#held += 1;
    this.deepest = Math.max(this.deepest, this.#held);
    this.#offer({ message, attempt: 1 });
  }

  #offer(waiting: Waiting<Message>): void {
    this.#ready.push(waiting);
    this.#invoke();
  }

  #invoke(): void {
    while (this.#ready.length > 0 && this.#running < this.#row.concurrencyMax) {
      const batch = this.#ready.splice(0, this.#row.batchSize);
      this.#running += 1;
      // The messages of a batch run in parallel.
      const seconds = Math.max(...batch.map(({ message }) => this.#work.seconds(message)));
      this.#timeline.after(seconds, () => this.#end(batch));
    }
  }

  #end(batch: readonly Waiting<Message>[]): void {
    this.#running -= 1;
    for (const { message, attempt } of batch) {
      const retry = this.#work.end(message, attempt);
      if (retry !== undefined && attempt < this.#row.receiveCountMax) {
        this.#timeline.after(retry, () => this.#offer({ message, attempt: attempt + 1 }));
        continue;
      }
      this.#held -= 1;
      if (retry !== undefined) this.dead += 1;
    }
    this.#invoke();
  }
}
