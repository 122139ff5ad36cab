// A fake AWS IoT Jobs: the HTTP endpoint for the unmodified client, kept in SQLite. Devices use it
// through the broker, which is in the same process. Development only.

import { type Log, silentLog } from '#core/log.ts';
import { type HttpEngine, type ListenOptions, serve } from '#local/ports.ts';
import { createControlPlane } from './control-plane.ts';
import { answerDevice, type Reply } from './device-requests.ts';
import { type Notification, Notifier } from './notifications.ts';
import type { ThingRegistry } from './registry/registry.ts';
import { Jobs } from './store/jobs.ts';
import { type Deliver, Outbox } from './store/outbox.ts';
import { JobStorage } from './store/storage.ts';
import { createThrottle } from './throttle.ts';

export interface IotJobsOptions extends Partial<ListenOptions> {
  /** SQLite file; answered changes survive kill -9. Without it all is in memory. */
  readonly file?: string;
  /** Takes the events of executions that end, at least once each. A rejected event is retried. */
  readonly deliver: Deliver;
  /** Served at the same endpoint. */
  readonly registry?: ThingRegistry;
  readonly now?: () => number;
  /** How often executions are checked for timeouts. */
  readonly timerMs?: number;
  /** The rate above which CreateJob is refused with ThrottlingException. */
  readonly createJobsPerSecond?: number;
  readonly log?: Log;
}

/** The requests of devices, for the broker to which the devices are connected. */
export interface DeviceJobs {
  /**
   * Sets the function that sends notifications; earlier ones are lost: no device was connected.
   */
  connect(notify: (notification: Notification) => void): void;
  /**
   * Takes a message that a thing published below its `jobs/`. The answer comes after the commit
   * and before notifications.
   */
  receive(thing: string, topic: string, payload: Buffer, answer: (reply: Reply) => void): void;
}

interface LocalIotJobs extends HttpEngine {
  readonly devices: DeviceJobs;
}

/** `<stage>/hosts/<thing>/<rest>` */
function thingOf(topic: string): string {
  return topic.split('/')[2] ?? '';
}

/** @throws PortTaken */
export async function startIotJobs(options: IotJobsOptions): Promise<LocalIotJobs> {
  const { host = '127.0.0.1', now = Date.now, timerMs = 1000, log = silentLog } = options;
  const storage = new JobStorage(options.file);
  const jobs = new Jobs(storage, now);
  const notifier = new Notifier(storage, now);
  const outbox = new Outbox(storage, options.deliver, log);
  let notify = (_notification: Notification): void => {};

  /** Sends the notifications and events that a change caused. */
  function send(): void {
    for (const notification of notifier.take()) notify(notification);
    outbox.wake();
  }

  const server = createControlPlane({
    jobs,
    countByStatus: (jobId) => storage.countByStatus(jobId),
    throttle: createThrottle(options.createJobsPerSecond, now),
    now,
    registry: options.registry,
    publish: (topic, payload) => notify({ thing: thingOf(topic), topic, payload, qos: 0 }),
    onDone: send,
    log,
  });
  const served = await serve(server, { ...options, port: options.port ?? 0, host });
  const timer = setInterval(() => {
    jobs.expire();
    send();
  }, timerMs);
  outbox.wake();

  return {
    ...served,
    devices: {
      connect: (listener) => {
        notify = listener;
      },
      receive: (thing, topic, payload, answer) => {
        answer(answerDevice(jobs, thing, topic, payload, now()));
        send();
      },
    },
    stop: async () => {
      clearInterval(timer);
      await served.stop();
      await outbox.stop();
      storage.close();
    },
  };
}
