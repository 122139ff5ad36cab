// An upgrade while servers boot and go: this release goes on with the rows and the messages of the
// release before, recorded in test/releases/.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { makeConsumer as hostJobs } from '#functions/consumers/host-jobs.ts';
import { makeConsumer as novaEvents } from '#functions/consumers/nova-events.ts';
import { makeConsumer as providerSyncs } from '#functions/consumers/provider-syncs.ts';
import { aJobEnd } from '#test/support/builders.ts';
import { gpu, provider, VgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { bound, deleted, loadRows, type Recorded, starting } from '#test/support/release-states.ts';
import { applySettled, aReport } from '#test/support/reports.ts';
import { stage, startWorld } from '#test/support/world.ts';

const makers = {
  'nova-events': novaEvents,
  'provider-syncs': providerSyncs,
  'host-jobs': hostJobs,
};

/** The newest recording: clouds are upgraded one minor version at a time. */
const releases = join(import.meta.dirname, '../releases');
const newest = readdirSync(releases).sort().at(-1) ?? '';

describe(`after an upgrade from ${newest.replace('.json', '')}`, () => {
  const recorded: Recorded = JSON.parse(readFileSync(join(releases, newest), 'utf8'));
  let host: VgpuHost;

  beforeAll(async () => {
    const world = await startWorld({ settings: { CYBORG_ATTACH_TYPES: 'PCI,MDEV' } });
    await world.startComputeNode('cmp1');
    await loadRows(recorded);
    host = new VgpuHost(world);
    host.recordJobs();
    Object.assign(host.counts, recorded.boot, { instances: 3, boots: 1 });
  });
  afterAll(() => host?.world.stop());

  /** A job has the name of its stage; that of the recording was `test`. */
  const finish = (jobId: string) =>
    finishJob(host.deps, aJobEnd(jobId.replace(/^test-/, `${stage}-`)));

  it('the rows are those of a server, of one that boots and of one that is deleted', async () => {
    expect(recorded.rows.length).toBeGreaterThan(15);
    expect(await host.stateOf(bound)).toBe('Bound');
    expect(await host.stateOf(starting)).toBe('BindStarted');
    expect(await host.stateOf(deleted)).toBeUndefined();
    expect((await host.handles()).filter(({ release }) => release)).toHaveLength(1);
  });

  it('each message is read by its consumer', async () => {
    expect(recorded.messages.map(({ queue }) => queue)).toEqual(
      expect.arrayContaining(Object.keys(makers)),
    );
    const sent: unknown[] = [];
    for (const { queue, body } of recorded.messages) {
      const consume = makers[queue as keyof typeof makers]({
        deps: () => host.deps,
        sqs: () => ({ send: async (command: unknown) => sent.push(command) }) as never,
      });
      const message = {
        messageId: 'm',
        receiptHandle: 'r',
        body: JSON.stringify(body),
        attributes: { ApproximateReceiveCount: '1' },
      } as SQSRecord;
      const answer = await consume({ Records: [message] }, {} as never);
      expect([queue, answer?.batchItemFailures]).toEqual([queue, []]);
    }
    // No message was dead-lettered or put off.
    expect(sent.filter((each) => !/Batch/.test(String(each?.constructor.name)))).toEqual([]);
  });

  it('the jobs that are under way end', async () => {
    await finish(recorded.jobs.bind);
    expect(await host.stateOf(starting)).toBe('Bound');
    await finish(recorded.jobs.release);
    expect((await host.handles()).filter(({ release }) => release)).toEqual([]);
  });

  it('the host reports, is listed, and takes the next server', async () => {
    const { boot_id, sequence } = recorded.boot;
    const report = aReport([gpu], { boot_id, sequence: sequence + 1 });
    await applySettled(host.deps, 'cmp1', report, Date.now());
    const { status, json } = await host.world.ask('GET', '/operator/v1/hosts');
    expect([status, json.hosts]).toMatchObject([200, [{ hostname: 'cmp1' }]]);
    const instance = 'aaaaaaaa-0000-4000-8000-000000000004';
    const bound = await host.world.bindArqs(recorded.unbound, { provider, instance });
    expect(bound.status).toBe(202);
    await host.startBindOf(instance);
    await host.end('bind');
    expect(await host.stateOf(instance)).toBe('Bound');
    expect(new Set((await host.handles()).map(({ claim }) => claim?.arqUuid)).size).toBe(3);
    expect(await host.remove(instance)).toBe(204);
  });

  it('the servers are deleted, and all handles come back', async () => {
    for (const instance of [bound, starting]) expect(await host.remove(instance)).toBe(204);
    await host.startReleases();
    await host.end('release');
    const taken = (await host.handles()).filter(({ claim, release }) => claim || release);
    expect(taken).toEqual([]);
    const { json } = await host.world.asNova('GET', '/v2/accelerator_requests');
    expect(json.arqs).toEqual([]);
  });
});
