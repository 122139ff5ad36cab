// A host with a card whose shell and firmware can be programmed, and images that are signed for
// it.

import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { deviceAnswer } from '#core/contracts/api/devices.ts';
import type { JobEvent } from '#core/contracts/jobs/job-document.ts';
import type { InventoryReport, ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { signedText } from '#core/domain/device/firmware/component-image.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { endProgram } from '#core/operations/program/end-program.ts';
import { startProgram } from '#core/operations/program/start-program.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { aJobEnd, bootIdOf } from '#test/support/builders.ts';
import { aDevice, aHandle, applySettled, aReport } from '#test/support/reports.ts';
import { startWorld } from '#test/support/world.ts';
import { RecordedHost } from './recorded-host.ts';

const address = '0000:3b:00.0';
/** Reports arrive so late that a device which was unhealthy is offered again. */
const recoveredMs = 4 * 60 * 60_000;
export const card = providerUuid(`cmp1_${address}`);

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const { privateKey: otherKey } = generateKeyPairSync('ed25519');

export async function startComponentHost(): Promise<ComponentHost> {
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  const world = await startWorld({
    settings: {
      CYBORG_ATTACH_TYPES: 'TEST_PCI',
      CYBORG_IMAGE_KEYS: JSON.stringify({ release: raw }),
      CYBORG_MIN_VERSIONS: JSON.stringify({ '8086:0b30': { bmc: '1.5' } }),
    },
  });
  return new ComponentHost(world);
}

class ComponentHost extends RecordedHost {
  private sequence = 0;
  private boots = 0;
  private versions: Record<string, string> = {};

  get deviceUuid(): Promise<string> {
    return this.device().then(({ uuid }) => uuid);
  }

  /** Boots the host with a card that runs its first versions, and no work is left. */
  async bootAfresh(): Promise<void> {
    this.keepJobs();
    await this.boot({ shell: '1', bmc: '1.0' });
    for (const id of await this.awaited()) {
      const work = await this.deps.store.releases.awaited(id);
      if (work?.kind === 'program') await endProgram(this.deps, work, { failure: 'afresh' });
      else if (work) await this.deps.store.releases.confirm(work, { at: '', by: 'service' });
    }
    await this.patch([{ op: 'replace', path: '/status', value: 'enabled' }]);
  }

  /** The host boots, and reports what the components run. */
  async boot(versions: Readonly<Record<string, string>> = this.versions): Promise<void> {
    this.boots += 1;
    await this.report(versions);
  }

  async report(
    versions: Readonly<Record<string, string>> = this.versions,
    given: Partial<ReportedDevice> = {},
  ): Promise<void> {
    this.versions = { ...versions };
    this.sequence += 1;
    const fpga = aDevice({
      address,
      vendor: '0x8086',
      product: '0x0b30',
      provider_suffix: undefined,
      components: Object.entries(versions).map(([name, version]) => ({ name, version })),
      offers: {
        resource_class: 'FPGA',
        traits: [],
        attach_handles: [aHandle(1), aHandle(2)],
      },
      ...given,
    });
    const order = { boot_id: bootIdOf(this.boots), sequence: this.sequence };
    const report: InventoryReport = aReport([fpga], order);
    await applySettled(this.deps, 'cmp1', report, Date.now() + recoveredMs + this.sequence);
  }

  async device() {
    const { devices } = await this.deps.store.inventory.host('cmp1');
    const device = devices.find((each) => each.address === address);
    if (!device) throw new Error('The card is not stored.');
    return device;
  }

  /** Uploads an image with what it is for; `null` leaves a property out. */
  async anImage(
    data: string,
    given: Readonly<Record<string, string | null>> = {},
    signer: 'right' | 'wrong' | 'none' = 'right',
  ): Promise<string> {
    const properties = Object.fromEntries(
      Object.entries({ component: 'bmc', models: '8086:0b30', version: '2.0', ...given }).flatMap(
        ([name, value]) => (value === null ? [] : [[`accel:${name}`, value]]),
      ),
    );
    const id = randomUUID();
    const value = createHash('sha512').update(data).digest('hex');
    const text = signedText({ id, hash: { algorithm: 'sha512', value }, properties });
    const key = signer === 'wrong' ? otherKey : privateKey;
    const signature = sign(undefined, Buffer.from(text), key).toString('base64');
    const made = { id, ...properties, ...(signer !== 'none' && { 'accel:signature': signature }) };
    await this.glance('POST', '/v2/images', JSON.stringify(made));
    await this.glance('PUT', `/v2/images/${id}/file`, Buffer.from(data));
    return id;
  }

  private async glance(method: string, path: string, body: string | Uint8Array<ArrayBuffer>) {
    const headers = { 'X-Auth-Token': 'admin-token' };
    const answer = await fetch(`${this.world.urls.glance}${path}`, { method, headers, body });
    if (!answer.ok) throw new Error(await answer.text());
  }

  async patch(body: unknown, token = 'admin-token') {
    return this.world.ask('PATCH', `/v2/devices/${await this.deviceUuid}`, { token, body });
  }

  /** Asks for firmware of the component. */
  async program(image: string, component = 'bmc') {
    return this.patch([{ op: 'add', path: `/firmware/${component}`, value: image }]);
  }

  /** The device's answer, with the programs of one component. */
  async shown(component = 'bmc') {
    const path = `/v2/devices/${await this.deviceUuid}`;
    const { json } = await this.world.ask('GET', path, { token: 'admin-token' });
    const answer = deviceAnswer.parse(json);
    return { ...answer, programs: answer.programs.filter(({ what }) => what === component) };
  }

  /** Ids of the work for which the card's handles wait. */
  async awaited(): Promise<string[]> {
    const provider = await this.deps.store.inventory.provider(card);
    return [...new Set(provider?.handles.flatMap(({ release }) => release ?? []))];
  }

  /** The message that the stream causes for each work. */
  async startAll(): Promise<void> {
    for (const id of await this.awaited()) await startProgram(this.deps, id);
  }

  /** The host ends its last job. */
  async end(operation: JobEvent['operation'], statusDetails?: Record<string, string>) {
    const [jobId = ''] = [...this.jobs.keys()].slice(-1);
    await finishJob(
      this.deps,
      aJobEnd(jobId, { operation, ...(statusDetails && { statusDetails }) }),
    );
  }
}
