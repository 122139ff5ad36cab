// Simulates a cloud at AWS's limits in virtual time, with the product's own numbers.

import { backoffMs } from '#agent/backoff.ts';
import { retrySeconds } from '#core/clients/aws/iot-jobs.ts';
import { answerWithinSeconds } from '#core/contracts/jobs/work-message.ts';
import {
  type QueueName,
  type QueueRow,
  queues as queueRows,
} from '#core/contracts/queues/queues.ts';
import { bindDeadlineSeconds, sweepSeconds, workDueMs } from '#core/domain/host-work/deadlines.ts';
import { hostWork } from '#core/domain/host-work/host-work.ts';
import { handlesMax, lookSeconds, sharedSeconds } from '#core/operations/bind/share-job.ts';
import { reprovisionRetrySeconds } from '#core/operations/reprovision/start-reprovision.ts';
import { createRandom } from '#simulation/random.ts';
import { filtersPerHost, quotas, taken } from './limits.ts';
import type { Load, Outcome } from './load.ts';
import { ConsumedQueue } from './queue.ts';
import { Quota, Timeline } from './timeline.ts';

/** The default of core/settings.ts. */
const resolveWaitSeconds = 25;

type Kind = 'pci' | 'pooled' | 'vgpu';

interface Server {
  readonly needsHost: boolean;
  /** The host cleans after it. */
  readonly isCleaned: boolean;
  readonly startedAt: number;
  readonly gpu: number;
  state: 'BindStarted' | 'Bound' | 'BindFailed';
  /** A job for several binds has it. */
  sharedAt?: number;
}

interface Release {
  readonly startedAt: number;
  isConfirmed: boolean;
  isQuarantined: boolean;
  /** Its bind failed, and may still be under way on the host. */
  hasJob: boolean;
}

type HostJob =
  | { readonly kind: 'bind'; readonly server: Server }
  | { readonly kind: 'release'; readonly release: Release }
  | { readonly kind: 'reprovision' };

export function live(load: Load): Outcome {
  const timeline = new Timeline();
  const random = createRandom(7).next;
  const allowed = { ...quotas, ...load.quotas };
  const createJob = new Quota(timeline, allowed.createJob);
  const cancelJob = new Quota(timeline, allowed.cancelJob);
  const connect = new Quota(timeline, allowed.connects);
  const subscribe = new Quota(timeline, allowed.subscriptions);
  const servers = new Set<Server>();
  /** Binds that AWS has throttled, by GPU. */
  const waiting = new Map<number, Set<Server>>();
  const releases = new Set<Release>();
  const waits = { pci: [] as number[], vgpu: [] as number[] };
  const boot = { reported: [] as number[], jobMade: [] as number[], boundAgain: [] as number[] };
  const count = { asked: 0, failed: 0, quarantined: 0 };

  const streamed = (run: () => void) => timeline.after(taken.stream, run);
  const onHost = (run: () => void) =>
    timeline.after(taken.hostLeast + random() * (taken.hostMost - taken.hostLeast), run);

  const novaEvents = new ConsumedQueue<Server | undefined>(timeline, rowOf('nova-events'), {
    seconds: () => taken.novaEvents,
    end: (server) => {
      if (server?.state === 'Bound') waits.vgpu.push(timeline.now - server.startedAt);
      return undefined;
    },
  });
  const jobEvents = new ConsumedQueue<() => void>(timeline, rowOf('job-events'), {
    seconds: () => taken.jobEvents,
    end: (finish) => {
      finish();
      return undefined;
    },
  });
  const hostJobsRow = {
    ...rowOf('host-jobs'),
    ...(load.hostJobsConcurrency && { concurrencyMax: load.hostJobsConcurrency }),
  };
  const hostJobs = new ConsumedQueue<HostJob>(timeline, hostJobsRow, {
    seconds: () => taken.hostJobs,
    end: (job, attempt) => work[job.kind](job as never, attempt),
  });

  const work = {
    bind({ server }: Extract<HostJob, { kind: 'bind' }>) {
      const { state, gpu, sharedAt } = server;
      if (state !== 'BindStarted') return undefined;
      if (sharedAt !== undefined && timeline.now - sharedAt < sharedSeconds) return lookSeconds;
      const others = othersBeside(server);
      if (!createJob.take()) {
        if (sharedAt === undefined) waiting.set(gpu, (waiting.get(gpu) ?? new Set()).add(server));
        return retrySeconds;
      }
      const all = [server, ...others];
      onHost(() => jobEvents.send(() => all.forEach(finishBind)));
      if (others.length === 0) return undefined;
      for (const each of all) {
        each.sharedAt = timeline.now;
        waiting.get(gpu)?.delete(each);
      }
      return lookSeconds;
    },
    release({ release }: Extract<HostJob, { kind: 'release' }>) {
      // The message that comes after the host's answer.
      if (release.isConfirmed) return undefined;
      // The bind's own job first, because it may still be running.
      if (release.hasJob && !cancelJob.take()) return retrySeconds;
      release.hasJob = false;
      onHost(() =>
        jobEvents.send(() => {
          release.isConfirmed = true;
          releases.delete(release);
        }),
      );
      timeline.after(answerWithinSeconds, () => hostJobs.send({ kind: 'release', release }));
      return undefined;
    },
    reprovision(_job: Extract<HostJob, { kind: 'reprovision' }>, attempt: number) {
      if (!createJob.take()) return reprovisionRetrySeconds(attempt, random());
      boot.jobMade.push(timeline.now);
      onHost(() =>
        jobEvents.send(() => {
          boot.boundAgain.push(timeline.now);
          for (let each = 0; each < (load.instancesPerHost ?? 0); each++) {
            streamed(() => novaEvents.send(undefined));
          }
        }),
      );
      return undefined;
    },
  };

  /** The binds that share the server's job. */
  function othersBeside(server: Server): Server[] {
    const all = waiting.get(server.gpu) ?? new Set();
    for (const each of all) if (each.state !== 'BindStarted') all.delete(each);
    if (server.sharedAt !== undefined) return [];
    return [...all].filter((each) => each !== server).slice(0, handlesMax - 1);
  }

  function finishBind(server: Server): void {
    if (server.state !== 'BindStarted') return;
    server.state = 'Bound';
    servers.delete(server);
    const took = timeline.now - server.startedAt;
    // Nova finds a bind that needed nothing of the host bound; its list waits for the others.
    if (!server.needsHost) waits.pci.push(took);
    else if (took < resolveWaitSeconds) waits.vgpu.push(took + taken.listStep);
    else streamed(() => novaEvents.send(server));
    timeline.after(load.lifeSeconds ?? 300, () => end(server));
  }

  /** Nova's DELETE or a failed bind: the host releases what it has prepared or is preparing. */
  function end(server: Server): void {
    if (!server.isCleaned) return;
    const hasJob = server.state === 'BindFailed';
    const release = { startedAt: timeline.now, isConfirmed: false, isQuarantined: false, hasJob };
    releases.add(release);
    streamed(() => hostJobs.send({ kind: 'release', release }));
  }

  /** Nova's PATCH; launches/ has its calls and what may refuse them. */
  function start(kind: Kind): void {
    count.asked += 1;
    const needsHost = kind === 'vgpu';
    const isCleaned = kind !== 'pci';
    const startedAt = timeline.now;
    const gpu = Math.floor(random() * (load.gpus ?? 1000));
    const server: Server = { needsHost, isCleaned, startedAt, gpu, state: 'BindStarted' };
    if (needsHost) {
      servers.add(server);
      streamed(() => hostJobs.send({ kind: 'bind', server }));
    } else {
      finishBind(server);
    }
  }

  function sweep(): void {
    for (const server of servers) {
      if (timeline.now - server.startedAt < workDueMs('bind', { bindDeadlineSeconds }) / 1000)
        continue;
      server.state = 'BindFailed';
      servers.delete(server);
      count.failed += 1;
      streamed(() => novaEvents.send(server));
      end(server);
    }
    for (const release of releases) {
      if (release.isQuarantined) continue;
      if (timeline.now - release.startedAt < hostWork.release.deadlineSeconds) continue;
      release.isQuarantined = true;
      count.quarantined += 1;
    }
    timeline.after(sweepSeconds, sweep);
  }

  const presence = new ConsumedQueue<undefined>(timeline, rowOf('host-presence'), {
    seconds: () => taken.presence,
    end: () => undefined,
  });
  const reports = new ConsumedQueue<undefined>(timeline, rowOf('inventory-reports'), {
    seconds: () => taken.report + taken.reportPerInstance * (load.instancesPerHost ?? 0),
    end: () => {
      boot.reported.push(timeline.now);
      if (load.instancesPerHost) streamed(() => hostJobs.send({ kind: 'reprovision' }));
      return undefined;
    },
  });

  function comeUp(failures: number): void {
    if (connect.take() && subscribe.take(filtersPerHost)) {
      presence.send(undefined);
      reports.send(undefined);
    } else {
      timeline.after(backoffMs(failures, random()) / 1000, () => comeUp(failures + 1));
    }
  }

  for (let host = 0; host < (load.bootingHosts ?? 0); host++) {
    timeline.after(random(), () => comeUp(0));
  }
  const arrive = (perSecond: number, kind: Kind) => {
    for (let each = 0; each < perSecond * load.seconds; each++) {
      timeline.after(each / perSecond, () => start(kind));
    }
  };
  arrive(load.pciPerSecond ?? 0, 'pci');
  arrive(load.pooledPerSecond ?? 0, 'pooled');
  arrive(load.vgpusPerSecond ?? 0, 'vgpu');
  timeline.after(sweepSeconds, sweep);
  timeline.run(load.seconds + afterwardsSeconds);

  return {
    ...waits,
    ...boot,
    counts: {
      ...count,
      createJobRefused: createJob.refused,
      cancelJobRefused: cancelJob.refused,
      connectsRefused: connect.refused + subscribe.refused,
    },
    deepest: {
      'host-jobs': hostJobs.deepest,
      'job-events': jobEvents.deepest,
      'nova-events': novaEvents.deepest,
      'inventory-reports': reports.deepest,
      'host-presence': presence.deepest,
    },
    dead: [novaEvents, jobEvents, hostJobs, presence, reports].reduce((sum, q) => sum + q.dead, 0),
  };
}

/** Time for all messages to end or to be dead-lettered. */
const afterwardsSeconds = 2 * 3600;

function rowOf(name: QueueName): QueueRow {
  const row = queueRows.find((each) => each.name === name);
  if (!row) throw new RangeError(`Unknown queue ${name}.`);
  return row;
}
