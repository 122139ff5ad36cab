// AWS charges for each message: infra/cost/counted-units.ts has the messages of a job.

import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { countedTraffic } from '#infra/cost/counted-units.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { aJobsHost, gpu } from './jobs-host.ts';

/** In edge-agent/broker/job-progress.ts. */
const progressMs = 2_000;

it('a job takes as many messages as the cost model has', async () => {
  const host = await aJobsHost();
  const mdev = () => ({
    kind: 'prepare',
    driver: 'fake_gpu',
    address: gpu,
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
    const before = counted(host);
    const startedMs = performance.now();
    await done(bind([mdev()]));
    // A job that takes longer also tells its progress, as on a busy machine: a message, and its
    // answer.
    const progressMax = Math.floor((performance.now() - startedMs) / progressMs);
    await eventually(() => {
      const now = counted(host);
      const progress = now.fromHost - before.fromHost - countedTraffic.job.fromHost;
      const answers = now.toHost - before.toHost - countedTraffic.job.toHost;
      return progress >= 0 && progress <= progressMax && answers === progress;
    }).toBe(true);
  } finally {
    await host.stop();
  }
});

function counted({ traffic }: Awaited<ReturnType<typeof aJobsHost>>) {
  return { fromHost: traffic.fromHost.length, toHost: traffic.toHost.length };
}
