// AWS IoT Jobs on this machine: the HTTP endpoint for the unmodified client, kept in SQLite. Devices
// speak with it through the broker, which is in the same process. Development only.

import { type Log, silentLog } from '#core/log.ts';
import { type ListenOptions, listen, type Running } from '../../process/ports.ts';
import type { ThingRegistry } from '../iot-registry/registry.ts';
import { createControlPlane } from './control-plane.ts';
import { answerDevice, type Reply } from './device-requests.ts';
import { Jobs } from './jobs.ts';
import { type Notification, Notifier } from './notifications.ts';
import { type Deliver, Outbox } from './outbox.ts';
import { JobStorage } from './storage.ts';
import { createThrottle } from './throttle.ts';

export interface IotJobsOptions extends Partial<ListenOptions> {
  /** SQLite file; what was answered survives kill -9. Without it all is in memory. */
  readonly file?: string;
  /** Takes the events of executions that end: at least once, again while it rejects. */
  readonly deliver: Deliver;
  /** Answered for at the same endpoint. */
  readonly registry?: ThingRegistry;
  readonly now?: () => number;
  /** How often timeouts are looked for. */
  readonly timerMs?: number;
  /** Above it CreateJob is refused with ThrottlingException. */
  readonly createJobsPerSecond?: number;
  readonly log?: Log;
}

/** The side of devices, for the broker that they are connected to. */
export interface DeviceJobs {
  /** Who brings notifications from now on; until then they are lost, as nobody is connected. */
  connect(notify: (notification: Notification) => void): void;
  /**
   * Takes what a thing has published below its `jobs/`. Answers before it notifies; what was
   * answered is committed.
   */
  receive(thing: string, topic: string, payload: Buffer, answer: (reply: Reply) => void): void;
}

export interface LocalIotJobs extends Running {
  readonly url: string;
  readonly port: number;
  readonly devices: DeviceJobs;
}

/** @throws PortTaken */
export async function startIotJobs(options: IotJobsOptions): Promise<LocalIotJobs> {
  const { host = '127.0.0.1', now = Date.now, timerMs = 1000, log = silentLog } = options;
  const storage = new JobStorage(options.file);
  const jobs = new Jobs(storage, now);
  const notifier = new Notifier(storage, now);
  const outbox = new Outbox(storage, options.deliver, log);
  let notify = (_notification: Notification): void => {};

  /** What follows from a change. */
  function tell(): void {
    for (const notification of notifier.take()) notify(notification);
    outbox.wake();
  }

  const server = createControlPlane({
    jobs,
    countByStatus: (jobId) => storage.countByStatus(jobId),
    throttle: createThrottle(options.createJobsPerSecond, now),
    now,
    registry: options.registry,
    onDone: tell,
    log,
  });
  const port = await listen(server, { ...options, port: options.port ?? 0, host });
  const timer = setInterval(() => {
    jobs.expire();
    tell();
  }, timerMs);
  outbox.wake();

  return {
    url: `http://${host}:${port}`,
    port,
    devices: {
      connect: (listener) => {
        notify = listener;
      },
      receive: (thing, topic, payload, answer) => {
        answer(answerDevice(jobs, thing, topic, payload, now()));
        tell();
      },
    },
    stop: async () => {
      clearInterval(timer);
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await outbox.stop();
      storage.close();
    },
  };
}
