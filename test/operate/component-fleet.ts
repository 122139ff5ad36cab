// Hosts with cards whose firmware is programmed: a test says when they work, and which card fails.

import { providerUuid } from '#core/domain/ids.ts';
import { startProgram } from '#core/operations/program/start-program.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { anImage } from '#test/contract/image.ts';
import { aJobEnd } from '#test/support/builders.ts';
import { RecordedHost } from '#test/support/hosts/recorded/recorded-host.ts';
import { aDevice, aHandle, applySettled, aReport } from '#test/support/reports.ts';
import { startWorld } from '#test/support/world.ts';

const hostCount = 5;
const cardsOfHost = 4;
const model = '8086:0b30';

export const failure = 'Step 1/1: write of bmc: EIO: programming:hw-error.';

export async function startComponentFleet(): Promise<ComponentFleet> {
  const settings = { CYBORG_ATTACH_TYPES: 'TEST_PCI', CYBORG_REQUIRE_SIGNATURE: '' };
  const fleet = new ComponentFleet(await startWorld({ settings }));
  await fleet.boot();
  return fleet;
}

interface Card {
  readonly host: string;
  readonly address: string;
  runs: string;
  /** Why its driver finds it unhealthy. */
  fault?: string;
}

class ComponentFleet extends RecordedHost {
  readonly cards: readonly Card[] = Array.from({ length: hostCount * cardsOfHost }, (_, index) => ({
    host: `cmp${1 + Math.floor(index / cardsOfHost)}`,
    address: `0000:3${index % cardsOfHost}:00.0`,
    runs: '1.0',
  }));
  /** Cards whose next program fails. */
  readonly failing = new Set<Card>();
  /** Cards that were programmed, each program once. */
  readonly programmed: Card[] = [];
  /** Programs that a host works on, by the id of their job. */
  private readonly begun = new Map<Card, string>();
  /** Hosts whose reports show when a device is healthy again. */
  private readonly faulty = new Set<string>();
  private nowMs = Date.now();
  private sequence = 0;

  async boot(): Promise<void> {
    this.keepJobs();
    for (const host of new Set(this.cards.map((card) => card.host))) await this.report(host);
  }

  anImage(version: string): Promise<string> {
    const properties = { component: 'bmc', models: model, version };
    return anImage(
      this.world.urls.glance,
      Object.fromEntries(Object.entries(properties).map(([name, text]) => [`accel:${name}`, text])),
    );
  }

  /** The cards that are being programmed. */
  async underWay(): Promise<readonly Card[]> {
    const rows = await this.rows();
    return rows.filter(({ state }) => state === 'started').map(({ card }) => card);
  }

  /** Each host ends the programs that it had begun before, and begins the others. */
  async work(version: string, nowMs: number): Promise<void> {
    this.nowMs = nowMs;
    for (const host of this.faulty) await this.report(host);
    const begun = [...this.begun];
    this.begun.clear();
    for (const [card, id] of begun) await this.end(card, id, version);
    for (const card of await this.underWay()) {
      const provider = providerUuid(`${card.host}_${card.address}`);
      const [handle] = (await this.deps.store.inventory.provider(provider))?.handles ?? [];
      this.jobs.clear();
      if (handle?.release) await startProgram(this.deps, handle.release);
      for (const id of this.jobs.keys()) this.begun.set(card, id);
    }
  }

  private async end(card: Card, id: string, version: string): Promise<void> {
    this.programmed.push(card);
    if (this.failing.delete(card)) {
      this.faulty.add(card.host);
      const statusDetails = { reason: failure };
      await finishJob(this.deps, aJobEnd(id, { operation: 'failed', statusDetails }));
      return;
    }
    const evidence = JSON.stringify({ bmc: { version, before: card.runs, sha256: 'a' } });
    card.runs = version;
    await finishJob(this.deps, aJobEnd(id, { statusDetails: { evidence } }));
    await this.report(card.host);
  }

  async report(host: string): Promise<void> {
    this.sequence += 1;
    const since = new Date().toISOString();
    const devices = this.cards
      .filter((card) => card.host === host)
      .map(({ address, runs, fault }) =>
        aDevice({
          address,
          vendor: '0x8086',
          product: '0x0b30',
          provider_suffix: undefined,
          components: [{ name: 'bmc', version: runs }],
          offers: { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(1)] },
          ...(fault && { health: { state: 'unhealthy', reason: fault, since } }),
        }),
      );
    const report = aReport(devices, { sequence: this.sequence });
    await applySettled({ ...this.deps, clock: () => this.nowMs }, host, report, this.nowMs);
  }

  async deviceAt({ host, address }: Card) {
    const { devices } = await this.deps.store.inventory.host(host);
    const device = devices.find((each) => each.address === address);
    if (!device) throw new Error(`No device is at ${address} of ${host}.`);
    return device;
  }

  private async rows() {
    const { json } = await this.world.ask('GET', `/operator/v1/firmware?model=${model}`);
    const devices = new Map<string, string>();
    for (const host of new Set(this.cards.map((card) => card.host))) {
      for (const { uuid, address } of (await this.deps.store.inventory.host(host)).devices) {
        devices.set(uuid, address);
      }
    }
    return json.firmware.flatMap(({ device_uuid, hostname, programs }) => {
      const address = devices.get(device_uuid);
      const card = this.cards.find((each) => each.host === hostname && each.address === address);
      return card ? [{ card, state: programs[0]?.state }] : [];
    });
  }
}
