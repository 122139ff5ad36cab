// A pool whose sets have NVLink partitions: the host prepares each unit of a server's set before
// the server gets it, and cleans each before another server can have the set.

import { beforeAll, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument } from '#core/contracts/jobs/job-document.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { partitions } from '#test/drivers/pci/fixture.ts';
import { Trial } from '#test/drivers/trial.ts';
import { aJobEnd, nextInstance } from '#test/support/builders.ts';
import { RecordedHost } from '#test/support/hosts/recorded/recorded-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

class PoolHost extends RecordedHost {
  record(): void {
    this.keepJobs();
    const hostMessages: ConsumerDeps['clients']['hostMessages'] = {
      send: async () => Promise.reject(new Error('All work comes as jobs.')),
    };
    this.deps = { ...this.deps, clients: { ...this.deps.clients, hostMessages } };
  }

  async handles() {
    const provider = await this.deps.store.inventory.provider(providerUuid('cmp1_left'));
    return provider?.handles ?? [];
  }

  /** Ends the only job as the agent does. */
  async end(): Promise<JobDocument> {
    const [[id, document] = []] = [...this.jobs];
    if (!id || !document || this.jobs.size > 1)
      throw new Error(`There are ${this.jobs.size} jobs.`);
    await finishJob(this.deps, aJobEnd(id, { operation: 'succeeded' }));
    this.jobs.delete(id);
    return document;
  }
}

const host = perFile(async () => new PoolHost(await startWorld()));

/** As driver pci reports them. */
async function readPools() {
  const trial = new Trial(partitions);
  try {
    await trial.start();
    return (await trial.discover()).devices.map(({ device }) => device);
  } finally {
    trial.remove();
  }
}

beforeAll(async () => {
  await host.world.startComputeNode('cmp1');
  await host.world.report('cmp1', await readPools());
  await host.world.createProfile('pair', { 'resources:PGPU': '2' });
  host.record();
});

const stepsOf = (document: JobDocument) =>
  ('steps' in document ? document.steps : []).map((step) => {
    const handle = 'handle' in step ? step.handle : undefined;
    return [step.kind, step.address, handle?.info.bus];
  });

it('prepares and cleans each unit of a set', async () => {
  const instance = nextInstance();
  const bind = async (server: typeof instance) => {
    const target = { provider: providerUuid('cmp1_left'), instance: server };
    return await host.world.bindArqs(await host.world.createArqs('pair'), target);
  };
  expect((await bind(instance)).status).toBe(202);
  expect(await host.stateOf(instance)).toBe('BindStarted');
  await host.startBindOf(instance);
  expect(stepsOf(await host.end()).toSorted()).toEqual([
    ['prepare', 'left', '0f'],
    ['prepare', 'left', '10'],
  ]);
  expect(await host.stateOf(instance)).toBe('Bound');

  expect(await host.remove(instance)).toBe(204);
  const releases = new Set((await host.handles()).flatMap(({ release }) => release ?? []));
  for (const id of releases) await startRelease(host.deps, id);
  const next = nextInstance();
  expect((await bind(next)).status).toBe(202);
  await expect(host.startBindOf(next)).rejects.toMatchObject({ name: 'RetryLater' });
  expect(stepsOf(await host.end()).toSorted()).toEqual([
    ['clean', 'left', '0f'],
    ['clean', 'left', '10'],
  ]);
  await host.startBindOf(next);
  await host.end();
  expect(await host.stateOf(next)).toBe('Bound');
});
