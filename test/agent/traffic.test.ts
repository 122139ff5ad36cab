// AWS charges for each message: infra/cost/counted-units.ts has the messages of a job.

import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { countedTraffic } from '#infra/cost/counted-units.ts';
import { aJobsHost, eventually, gpu } from './jobs-host.ts';

/** In edge-agent/job-progress.ts. */
const progressMs = 2_000;

it('a job takes as many messages as the cost model has', async () => {
  const host = await aJobsHost();
  const mdev = () => ({
    ...{ kind: 'prepare', driver: 'fake_gpu', address: gpu },
    handle: { uuid: randomUUID(), type: 'MDEV', info: { asked_type: 'fake-1' }, epoch: 1 },
  });
  const bind = (steps: object[]) => host.document('prepare', { bind_id: randomUUID(), steps });
  const done = async (document: object) => {
    const jobId = await host.model.create(document);
    await eventually(() => host.model.job(jobId).status).toBe('SUCCEEDED');
  };
  try {
    host.start();
    // After the first job the agent is idle.
    await done(bind([mdev()]));
    await eventually(() => host.traffic.toHost.at(-1)).toMatch(/notify$/);
    const counted = () => ({
      from: host.traffic.fromHost.length,
      to: host.traffic.toHost.length,
    });
    let before = counted();
    // A job that takes longer also tells its progress, as on a busy machine. The GPU has room for
    // three more.
    for (let left = 3, tookMs = progressMs; left > 0 && tookMs >= progressMs; left -= 1) {
      before = counted();
      const startedMs = performance.now();
      await done(bind([mdev()]));
      tookMs = performance.now() - startedMs;
    }
    await eventually(() => ({
      fromHost: host.traffic.fromHost.length - before.from,
      toHost: host.traffic.toHost.length - before.to,
    })).toEqual(countedTraffic.job);
  } finally {
    await host.stop();
  }
});
