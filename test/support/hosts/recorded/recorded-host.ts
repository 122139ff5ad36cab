// A host of a world, whose jobs a test records and ends itself; everything else is real.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument } from '#core/contracts/jobs/job-document.ts';
import type { BindId } from '#core/domain/ids.ts';
import { startBind } from '#core/operations/bind/start-bind.ts';
import type { World } from '#test/support/world.ts';

export class RecordedHost {
  readonly world: World;
  deps: ConsumerDeps;
  /** The jobs that the host was sent, by id. */
  jobs = new Map<string, JobDocument>();

  constructor(world: World) {
    this.world = world;
    this.deps = world.deps;
  }

  stop(): Promise<void> {
    return this.world.stop();
  }

  /** Keeps the jobs that are sent from now on, in place of sending them. */
  protected keepJobs(): void {
    this.jobs = new Map();
    const double: ConsumerDeps['clients']['jobs'] = {
      create: async (id, document) => void (this.jobs.has(id) || this.jobs.set(id, document)),
      cancel: async () => {},
      executionStatus: async (id) => (this.jobs.has(id) ? 'QUEUED' : undefined),
    };
    this.deps = { ...this.world.deps, clients: { ...this.world.deps.clients, jobs: double } };
  }

  /** Starts the bind with the message that the stream would cause. */
  async startBindOf(instance: string, given: Partial<ConsumerDeps['clients']> = {}) {
    const binding = await this.deps.store.arqs.binding(instance);
    const clients = { ...this.deps.clients, ...given };
    if (binding) await startBind({ ...this.deps, clients }, instance, binding.bindId as BindId);
  }

  /** The state of its first ARQ, or the status of a refusal, as a user is shown it. */
  async stateOf(instance: string): Promise<unknown> {
    const path = `/v2/accelerator_requests?instance=${instance}`;
    const { status, json } = await this.world.ask('GET', path, { token: 'demo-token' });
    return status === 200 ? json.arqs[0]?.state : status;
  }

  /** The same as Nova is shown it, which waits. */
  async listedForNova(instance: string): Promise<unknown> {
    const { status, json } = await this.world.arqsOf(instance);
    return status === 200 ? json.arqs[0]?.state : status;
  }

  async remove(instance: string): Promise<number> {
    return (await this.world.deleteArqsOf(instance)).status;
  }
}
