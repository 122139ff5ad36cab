// A host whose clock is wrong, as a process: its time of day is shifted before the agent starts.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { eventually } from '#test/support/vitest/eventually.ts';
import { aJobsHost, gpu } from './jobs-host.ts';

const shifted = (aheadMs: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `const now=Date.now;Date.now=()=>now()+${aheadMs};`,
  )}`,
});

it.each([120_000, -120_000])(
  'takes work messages while they are valid, and reports its clock, %d ms ahead',
  async (aheadMs) => {
    const host = await aJobsHost();
    const uuid = randomUUID();
    const handle = { uuid, type: 'MDEV', info: { asked_type: 'fake-1' }, epoch: 1 };
    const step = { kind: 'prepare', driver: 'fake_gpu', address: gpu, handle };
    const document = host.document('prepare', { bind_id: randomUUID(), steps: [step] });
    try {
      host.model.seconds = Math.floor(Date.now() / 1000);
      const agent = host.start(shifted(aheadMs));
      await eventually(() => host.reports.length).toBeGreaterThan(0);
      await eventually(() => agent.output()).toContain('Inventory reported');
      const valid_until = new Date(Date.now() + 60_000).toISOString();
      await host.sendWork({ job_id: 'bind-1', valid_until, document });
      await eventually(() => host.workEnds).toMatchObject([
        { job_id: 'bind-1', status: 'SUCCEEDED' },
      ]);
      expect(host.gpu().state.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid]);
      // After the message the agent reports again.
      await eventually(() => {
        const { ahead_ms: ahead, within_ms: within } = host.reports.at(-1)?.clock ?? {};
        return Math.abs(Number(ahead) - aheadMs) <= Number(within) + 60_000;
      }).toBe(true);
    } finally {
      await host.stop();
    }
  },
);
