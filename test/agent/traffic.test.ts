// AWS charges for each message: infra/cost/counted-units.ts has the messages of a job.

import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { countedTraffic } from '#infra/cost/counted-units.ts';
import { aJobsHost, eventually, gpu } from './jobs-host.ts';

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
    const before = { from: host.traffic.fromHost.length, to: host.traffic.toHost.length };
    await done(bind([mdev()]));
    await eventually(() => ({
      fromHost: host.traffic.fromHost.length - before.from,
      toHost: host.traffic.toHost.length - before.to,
    })).toEqual(countedTraffic.job);
  } finally {
    await host.stop();
  }
});
