// What a thing is told unasked: `notify` when a job comes to its pending ones or leaves them,
// `notify-next` when another job is the next. A job that starts where it is changes neither.
// https://docs.aws.amazon.com/iot/latest/developerguide/jobs-comm-notifications.html

import type { Execution } from './lifecycle.ts';
import type { JobStorage } from './storage.ts';
import { seconds, viewForDevice, viewPending } from './views.ts';

/** As AWS lists without a schedule; the rest follows as these end. */
export const listedMax = 10;

export interface Notification {
  readonly thing: string;
  readonly topic: string;
  readonly payload: string;
}

/** What was told last: who is pending, in any order, and who is next. */
interface Told {
  readonly members: string;
  readonly next: string | undefined;
}

export class Notifier {
  readonly #storage: JobStorage;
  readonly #now: () => number;
  readonly #told = new Map<string, Told>();

  constructor(storage: JobStorage, now: () => number) {
    this.#storage = storage;
    this.#now = now;
    // What came before a restart is asked for: connections have not survived it either.
    for (const thing of storage.thingsWithPending()) {
      this.#told.set(thing, toldOf(storage.pendingOf(thing)));
    }
  }

  /** For the things that have changed since the last call. */
  take(): Notification[] {
    return this.#storage.takeTouched().flatMap((thing) => this.#notificationsOf(thing));
  }

  #notificationsOf(thing: string): Notification[] {
    const pending = this.#storage.pendingOf(thing);
    const before = this.#told.get(thing) ?? toldOf([]);
    const after = toldOf(pending);
    if (pending.length === 0) this.#told.delete(thing);
    else this.#told.set(thing, after);

    const timestamp = seconds(this.#now());
    const message = (name: string, body: object): Notification => ({
      thing,
      topic: `$aws/things/${thing}/jobs/${name}`,
      payload: JSON.stringify({ timestamp, ...body }),
    });
    const notifications: Notification[] = [];
    if (after.members !== before.members) {
      const jobs = Object.groupBy(pending.slice(0, listedMax), ({ status }) => status);
      const listed = Object.entries(jobs).map(([status, all]) => [status, all.map(viewPending)]);
      notifications.push(message('notify', { jobs: Object.fromEntries(listed) }));
    }
    if (after.next !== before.next) {
      const [next] = pending;
      const document = next && this.#storage.findJob(next.jobId)?.document;
      const body = next ? { execution: viewForDevice(next, document, this.#now()) } : {};
      notifications.push(message('notify-next', body));
    }
    return notifications;
  }
}

function toldOf(pending: readonly Execution[]): Told {
  // With the time: a job may be deleted and made anew under its name.
  const names = pending.map(({ jobId, queuedAtMs }) => `${jobId}@${queuedAtMs}`);
  return { next: names[0], members: names.toSorted().join(' ') };
}
