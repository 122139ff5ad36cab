// A host with a GPU that makes mdevs.

import { expect } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument, JobEvent } from '#core/contracts/jobs/job-document.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { Presence } from '#core/domain/host/host.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { startReprovision } from '#core/operations/reprovision/start-reprovision.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aJobEnd, bootIdOf, instanceOf } from '#test/support/builders.ts';
import { aDevice, applySettled, aReport, madeAtBind } from '#test/support/reports.ts';
import { stage, startWorld, type World, type WorldOptions } from '#test/support/world.ts';
import { RecordedHost } from './recorded-host.ts';

export const provider = providerUuid('cmp1_0000:0e:00.0_fake-1');

export const minutes = 60_000;

export const gpu = gpuWith(3);

function gpuWith(handles: number) {
  return aDevice({
    address: '0000:0e:00.0',
    driver: 'fake_gpu',
    type: 'GPU',
    provider_suffix: undefined,
    offers: undefined,
    // A vGPU type, as drivers report it.
    regions: [
      {
        name: 'fake-1',
        kind: 'mdev-type',
        resource_class: 'VGPU',
        traits: [],
        attach_handles: Array.from({ length: handles }, (_, index) => index + 1).map((index) => ({
          type: 'MDEV',
          info: { domain: '0000', bus: '0e', asked_type: 'fake-1', vgpu_mark: `fake-1_${index}` },
          ...madeAtBind,
        })),
      },
    ],
  });
}

/**
 * @param settings in addition to the usual ones
 * @param handles of the GPU
 * @param options of its world
 */
export async function startVgpuHost(
  settings: Record<string, string> = {},
  handles = 3,
  options: WorldOptions = {},
): Promise<VgpuHost> {
  const all = { CYBORG_ATTACH_TYPES: 'PCI,MDEV', ...settings };
  const world = await startWorld({ ...options, settings: all });
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
  return new VgpuHost(world, gpuWith(handles));
}

export class VgpuHost extends RecordedHost {
  cancelled: string[] = [];
  readonly counts = { sequence: 0, instances: 0, boots: 0 };
  private everMade = new Set<string>();
  private readonly gpu: typeof gpu;

  constructor(world: World, device = gpu) {
    super(world);
    this.gpu = device;
  }

  /** Begins to record the jobs, with none of an earlier test. */
  recordJobs(): void {
    this.jobs = new Map();
    this.everMade = new Set();
    this.cancelled = [];
    this.deps = {
      ...this.world.deps,
      clients: {
        ...this.world.deps.clients,
        jobs: {
          create: async (id, document) => {
            if (!this.everMade.has(id)) {
              this.everMade.add(id);
              this.jobs.set(id, document);
            }
          },
          cancel: async (id) => void this.cancelled.push(id),
          executionStatus: async () => undefined,
        },
        // All work comes as jobs.
        hostMessages: { send: async () => Promise.reject(new Error('not here')) },
      },
    };
  }

  /** Boots the host, so that no state of an earlier test is left. */
  async bootAfresh(): Promise<void> {
    this.recordJobs();
    for (let instance = 1; instance <= this.counts.instances; instance++)
      await this.remove(instanceOf(instance));
    // The boot's report comes over this connection.
    await this.setPresence({ isConnected: true, version: 1, at: new Date().toISOString() });
    await this.boot();
    await this.confirmReleases();
    this.jobs.clear();
  }

  /** Ends all releases as if the host had cleaned up. */
  async confirmReleases(): Promise<void> {
    for (const id of new Set((await this.handles()).flatMap(({ release }) => release ?? []))) {
      const work = await this.deps.store.releases.awaited(id);
      if (work) await this.deps.store.releases.confirm(work, makeChangeNote(this.deps));
    }
  }

  /** Sets the clock of the consumers ahead by `count` minutes. */
  setClockAhead(count: number): void {
    this.deps = { ...this.deps, clock: () => Date.now() + count * minutes };
  }

  async setPresence(presence: Presence): Promise<void> {
    const { host } = await this.deps.store.inventory.host('cmp1');
    await this.deps.store.inventory.putPresence('cmp1', presence, host.presence);
  }

  /** Disconnects the agent, and dates it back. */
  async disconnect(forMs: number): Promise<void> {
    const at = new Date(Date.now() - forMs).toISOString();
    const { host } = await this.deps.store.inventory.host('cmp1');
    await this.underLease((holder) =>
      this.deps.store.inventory.putReport({ ...host, lastReportAt: at }, holder),
    );
    await this.setPresence({ isConnected: false, version: 1, at });
  }

  /** Runs the work with the lease on the host's reports, as a consumer does. */
  async underLease(work: (holder: string) => Promise<boolean>): Promise<void> {
    const { inventory } = this.deps.store;
    const now = new Date().toISOString();
    expect(await inventory.takeLease('cmp1', 'test', now, now)).toBe(true);
    expect(await work('test')).toBe(true);
    await inventory.endLease('cmp1', 'test');
  }

  async boot(given: ConsumerDeps = this.deps): Promise<void> {
    this.counts.boots += 1;
    this.counts.sequence += 1;
    const boot_id = bootIdOf(this.counts.boots);
    // Some tests set the clock ahead; a boot must come after that.
    const later = { ...given, clock: () => Date.now() + 10 * minutes };
    await applySettled(
      later,
      'cmp1',
      aReport([this.gpu], { boot_id, sequence: this.counts.sequence }),
      Date.now() + this.counts.boots,
    );
    await this.reprovisionAll(later);
  }

  /** The next report in the boot that the host has reported last. */
  async report(
    devices = [this.gpu],
    given: object = {},
    by = this.deps,
    aheadMs = 0,
  ): Promise<void> {
    const { host } = await this.deps.store.inventory.host('cmp1');
    this.counts.sequence += 1;
    const from = { boot_id: host.bootId as string, sequence: this.counts.sequence, ...given };
    await applyReport(by, 'cmp1', aReport(devices, from), Date.now() + aheadMs);
  }

  async bind() {
    const [arq] = await this.world.createArqs('vgpu');
    this.counts.instances += 1;
    const instance = instanceOf(this.counts.instances);
    const { status, json } = await this.world.bindArqs(arq, { provider, instance });
    return { arq, instance, status, error: json?.error };
  }

  /** Starts reprovisioning with the messages that the stream would cause after a reboot. */
  async reprovisionAll(given: ConsumerDeps = this.deps): Promise<void> {
    const jobUuids = new Set<string>();
    for (let instance = 1; instance <= this.counts.instances; instance++) {
      const binding = await given.store.arqs.binding(instanceOf(instance));
      if (binding?.state === 'provisioning' && binding.jobUuid) jobUuids.add(binding.jobUuid);
    }
    for (const uuid of jobUuids) await startReprovision(given, uuid, 1);
  }

  async startReleases(given: ConsumerDeps = this.deps): Promise<void> {
    for (const id of new Set((await this.handles()).flatMap(({ release }) => release ?? []))) {
      await startRelease(given, id);
    }
  }

  async handles(): Promise<readonly AttachHandle[]> {
    return (await this.deps.store.inventory.provider(provider))?.handles ?? [];
  }

  async end(
    kind: 'bind' | 'release' | 'reprovision',
    operation: JobEvent['operation'] = 'succeeded',
    statusDetails: JobEvent['statusDetails'] = {},
  ): Promise<void> {
    const ids = [...this.jobs.keys()].filter((id) => id.startsWith(`${stage}-${kind}-`));
    expect(ids.length).toBeGreaterThan(0);
    for (const jobId of ids) {
      const event = aJobEnd(jobId, { operation, statusDetails });
      // Deliver twice: events come at least once.
      for (const _ of [1, 2]) await finishJob(this.deps, event);
      this.jobs.delete(jobId);
    }
  }

  /** A bind that the host has been asked to prepare. */
  async started() {
    const made = await this.bind();
    await this.startBindOf(made.instance);
    return made;
  }

  async bound() {
    const made = await this.started();
    await this.end('bind');
    return made;
  }

  /** A deleted server whose handle the host has been asked to clean. */
  async releasing() {
    const made = await this.bound();
    await this.remove(made.instance);
    await this.startReleases();
    return made;
  }

  /** Restores jobs whose events are still to come. */
  bringBackJobs(late: Map<string, JobDocument>): void {
    this.jobs = late;
  }
}

/** A second card of the host, where a test reports it. */
export const secondCard = { ...gpu, address: '0000:0f:00.0' };
export const secondProvider = providerUuid('cmp1_0000:0f:00.0_fake-1');

/** The release that a handle of the card waits for. */
export async function releaseOn(
  host: VgpuHost,
  uuid: typeof provider,
): Promise<string | undefined> {
  const stored = await host.deps.store.inventory.provider(uuid);
  return stored?.handles.find(({ release }) => release)?.release;
}

/** @returns the instance */
export async function bindOnBothCards(host: VgpuHost): Promise<string> {
  const group = { 'resources:VGPU': '1' };
  await host.world.createProfile('pair', group, group);
  const arqs = await host.world.createArqs('pair');
  host.counts.instances += 1;
  const instance = instanceOf(host.counts.instances);
  const target = { hostname: 'cmp1', instance_uuid: instance };
  const patch = Object.fromEntries(
    [provider, secondProvider].map((card, index) => [
      arqs[index],
      bindPatch({ ...target, device_rp_uuid: card }),
    ]),
  );
  const { status } = await host.world.asNova('PATCH', '/v2/accelerator_requests', patch);
  expect(status).toBe(202);
  await host.startBindOf(instance);
  await host.end('bind');
  expect(await host.stateOf(instance)).toBe('Bound');
  return instance;
}
