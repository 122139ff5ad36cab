// Notifications to a thing: `notify` when its set of pending jobs changes, `notify-next` when
// another job becomes the next one. A job that starts changes neither here; AWS's page says both
// that its start has a `notify` and that only a job that comes or goes has one.
// https://docs.aws.amazon.com/iot/latest/developerguide/jobs-comm-notifications.html

import type { Execution } from './store/lifecycle.ts';
import type { JobStorage } from './store/storage.ts';
import { seconds, viewForDevice, viewPending } from './views.ts';

/** How many pending jobs `notify` lists, as AWS does. */
export const listedMax = 10;

export interface Notification {
  readonly thing: string;
  readonly topic: string;
  readonly payload: string;
  /** 0: lost unless the thing is connected. */
  readonly qos?: 0;
}

/** The state in the last notification: the pending jobs in any order, and the next one. */
interface Notified {
  readonly members: string;
  readonly next: string | undefined;
}

export class Notifier {
  readonly #storage: JobStorage;
  readonly #now: () => number;
  readonly #notified = new Map<string, Notified>();

  constructor(storage: JobStorage, now: () => number) {
    this.#storage = storage;
    this.#now = now;
    // Connections do not survive a restart, so a thing asks for the jobs from before it.
    for (const thing of storage.thingsWithPending()) {
      this.#notified.set(thing, notifiedOf(storage.pendingOf(thing)));
    }
  }

  /** Returns the notifications for the changes since the last call. */
  take(): Notification[] {
    return this.#storage.takeTouched().flatMap((thing) => this.#notificationsOf(thing));
  }

  #notificationsOf(thing: string): Notification[] {
    const pending = this.#storage.pendingOf(thing);
    const before = this.#notified.get(thing) ?? notifiedOf([]);
    const after = notifiedOf(pending);
    if (pending.length === 0) this.#notified.delete(thing);
    else this.#notified.set(thing, after);

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

function notifiedOf(pending: readonly Execution[]): Notified {
  // With the time, because a job may be deleted and created again under the same id.
  const names = pending.map(({ jobId, queuedAtMs }) => `${jobId}@${queuedAtMs}`);
  return { next: names[0], members: names.toSorted().join(' ') };
}
