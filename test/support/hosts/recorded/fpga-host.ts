// A host with one region of an FPGA.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobEvent } from '#core/contracts/jobs/job-document.ts';
import type { InventoryReport } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { startProgram } from '#core/operations/program/start-program.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { startReprovision } from '#core/operations/reprovision/start-reprovision.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { aJobEnd, bootIdOf } from '#test/support/builders.ts';
import { fakeInterface } from '#test/support/hosts/gbs.ts';
import { aDevice, aHandle, applySettled, aReport } from '#test/support/reports.ts';
import { startWorld } from '#test/support/world.ts';
import { RecordedHost } from './recorded-host.ts';

export const region = providerUuid('cmp1_0000:0d:00.0_region0');

export const loadedId = '0f1a2b3c-0000-4000-8000-00000000000a';

export const loadedFunction = 'd8424dc4-a4a3-c413-f89e-433683f9040b';

interface Held {
  readonly bitstream?: string;
  readonly function?: string;
}

export async function fetchBytes(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

export async function startFpgaHost(): Promise<FpgaHost> {
  return new FpgaHost(await startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
}

class FpgaHost extends RecordedHost {
  private sequence = 0;
  private boots = 0;
  private instances: string[] = [];

  /** Boots the host with an empty region, so that no state of an earlier test is left. */
  async bootAfresh(): Promise<void> {
    this.keepJobs();
    for (const instance of this.instances) await this.remove(instance);
    this.instances = [];
    await this.boot();
  }

  /** Boots the host, whose region has a function or none, and one handle or two. */
  async boot(
    held: Held = {},
    given: { isDescribed?: boolean; isSameBoot?: boolean; isShared?: boolean } = {},
  ): Promise<void> {
    const { isDescribed = true, isSameBoot = false, isShared = true } = given;
    const report = this.nextReport(held, { isSameBoot, isShared });
    await this.receive(isDescribed ? report : { ...report, devices: [] });
  }

  /** The next report of the host, of the next boot or of the same one. */
  nextReport(held: Held = {}, { isSameBoot = false, isShared = true } = {}): InventoryReport {
    this.sequence += 1;
    if (!isSameBoot) this.boots += 1;
    const fpga = aDevice({
      address: '0000:0d:00.0',
      provider_suffix: undefined,
      offers: undefined,
      regions: [
        {
          name: 'region0',
          kind: 'reconfigurable-region',
          resource_class: 'FPGA',
          traits: [],
          attach_handles: isShared ? [aHandle(1), aHandle(2)] : [aHandle(1)],
          'region-type-uuid': fakeInterface,
          'bitstream-id': held.bitstream,
          'function-uuid': held.function,
        },
      ],
    });
    return aReport([fpga], { boot_id: bootIdOf(this.boots), sequence: this.sequence });
  }

  async receive(report: InventoryReport, given = this.deps): Promise<void> {
    await applySettled(given, 'cmp1', report, Date.now() + report.sequence);
  }

  async glance(method: string, path: string, body: string | Uint8Array<ArrayBuffer>) {
    const response = await fetch(`${this.world.urls.glance}${path}`, {
      method,
      headers: { 'X-Auth-Token': 'admin-token' },
      body,
    });
    expect(response.ok, await response.clone().text()).toBe(true);
    return response;
  }

  async anImage(properties: Record<string, string>, data?: Buffer): Promise<string> {
    const published = { visibility: 'public', ...properties };
    const made = await this.glance('POST', '/v2/images', JSON.stringify(published));
    const { id } = (await made.json()) as { id: string };
    if (data) await this.glance('PUT', `/v2/images/${id}/file`, new Uint8Array(data));
    return id;
  }

  async bind(accel: Record<string, string>, count = 1) {
    const name = `p-${randomUUID()}`;
    const groups = [{ 'resources:FPGA': String(count), ...accel }];
    await this.world.createProfile(name, ...groups);
    return await this.bindArqs(await this.world.createArqs(name));
  }

  async bindArqs(arqs: readonly string[]) {
    const instance = randomUUID();
    this.instances.push(instance);
    const { status, json } = await this.world.bindArqs(arqs, { provider: region, instance });
    return { instance, status, error: json?.error };
  }

  /** Starts a release or a program with the message that the stream would cause. */
  async startAwaited(given: ConsumerDeps, id: string): Promise<void> {
    await startRelease(given, id);
    await startProgram(given, id);
  }

  /** Starts reprovisioning with the message that the stream would cause after a reboot. */
  async reprovisionFor(instance: string, attempt = 1): Promise<void> {
    const binding = await this.deps.store.arqs.binding(instance);
    if (binding?.jobUuid) await startReprovision(this.deps, binding.jobUuid, attempt);
  }

  /** A bind that the host has been asked to prepare. */
  async started(accel: Record<string, string>, count = 1) {
    const made = await this.bind(accel, count);
    await this.startBindOf(made.instance);
    return made;
  }

  /** Binds an instance, and returns it when its bind has succeeded. */
  async bound(accel: Record<string, string>): Promise<string> {
    const { instance } = await this.started(accel);
    await this.end('succeeded');
    this.jobs.clear();
    return instance;
  }

  /** Ids of the work for which the region's handles wait. */
  async releases(): Promise<string[]> {
    const provider = await this.deps.store.inventory.provider(region);
    return [...new Set(provider?.handles.flatMap(({ release }) => release ?? []))];
  }

  async end(operation: JobEvent['operation']): Promise<void> {
    for (const jobId of this.jobs.keys()) await finishJob(this.deps, aJobEnd(jobId, { operation }));
  }

  /** The only step of the only job. */
  theOnlyStep() {
    const steps = [...this.jobs.values()].flatMap((job) => ('steps' in job ? job.steps : []));
    expect(steps).toHaveLength(1);
    return steps[0];
  }

  theStep() {
    const step = this.theOnlyStep();
    if (!step || !('content' in step) || !('image' in step.content)) {
      throw new Error(`not to program, but to ${step?.kind}`);
    }
    return { ...step, image: step.content.image };
  }
}
