// What a host tells of a device: its attributes, its health, and that it was moved.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { nextInstance } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const [slotA, slotB] = ['0000:3b:00.0', '0000:af:00.0'];
const world = perFile(() => startWorld({ consumers: true }));
let hosts = 0;
let host: string;

beforeAll(() => world.createProfile('fpga', { 'resources:FPGA': '1' }));

beforeEach(async () => {
  hosts += 1;
  host = `cmp${hosts}`;
  await world.startComputeNode(host);
});

const report = (...devices: ReportedDevice[]) => reportAfter(0, ...devices);

async function reportAfter(minutes: number, ...devices: ReportedDevice[]): Promise<void> {
  const clock = () => Date.now() + minutes * 60_000;
  await world.report(host, devices, {}, { ...world.deps, clock });
}

/** The jobs that a report makes which describes no device. */
async function jobsOfHeartbeat(device: ReportedDevice): Promise<string[]> {
  const jobs: string[] = [];
  const noted = withClients(world.deps, { jobs: { create: async (id) => void jobs.push(id) } });
  await world.report(host, [device], { devices: [] }, noted);
  return jobs;
}

function card(address: string, given: Partial<ReportedDevice> = {}): ReportedDevice {
  return aDevice({ address, provider_suffix: undefined, handles: 2, ...given });
}

const providerAt = (address: string) => providerUuid(`${host}_${address}`);

async function reservedOf(address: string): Promise<number | undefined> {
  const held = await world.deps.clients.placement.getInventories(providerAt(address));
  return held?.inventories.FPGA?.reserved;
}

async function bind(address: string) {
  const arqs = await world.createArqs('fpga');
  const instance = nextInstance();
  const target = { host, provider: providerAt(address), instance };
  const { status, text } = await world.bindArqs(arqs, target);
  return { instance, status, text };
}

it('shows the facts of a device as attributes of its deployables', async () => {
  const offers = { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(1)] };
  await report(
    card(slotA, {
      identity: 'serial-of-card',
      numa_node: 1,
      pcie_root: '0000:00:01.0',
      firmware: '1.2',
      attributes: { framebuffer: '24576' },
      offers: { ...offers, pool: 'nvidia-35' },
    }),
  );
  const { deployable } = (await world.deps.store.inventory.provider(providerAt(slotA))) ?? {};
  const { json } = await world.ask('GET', `/v2/attributes?deployable_id=${deployable?.uuid}`);
  const shown: readonly { key: string; value: string }[] = json.attributes;
  expect(Object.fromEntries(shown.map(({ key, value }) => [key, value]))).toMatchObject({
    rc: 'FPGA',
    framebuffer: '24576',
    pool: 'nvidia-35',
    numa_node: '1',
    pcie_root: '0000:00:01.0',
    firmware: '1.2',
  });
  expect(JSON.stringify(json)).not.toContain('serial-of-card');
});

describe('an unhealthy device', () => {
  const since = '2026-07-01T00:00:00.000Z';
  const health = { state: 'unhealthy', reason: 'is stuck', since } as const;
  const unhealthy = () => card(slotA, { health });
  const degraded = () => card(slotA, { health: { ...health, state: 'degraded' } });

  it('stays with its server, and goes to no other', async () => {
    await report(card(slotA));
    const { instance } = await bind(slotA);
    await report(unhealthy());
    const refused = await bind(slotA);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('is stuck')]);
    await eventually(() => reservedOf(slotA)).toBe(2);
    expect((await world.arqsOf(instance)).json.arqs).toMatchObject([{ state: 'Bound' }]);
  });

  it('is offered again after ten minutes without a fault', async () => {
    await report(unhealthy());
    await reportAfter(1, degraded());
    const refused = await bind(slotA);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('it is stuck')]);
    await reportAfter(10, degraded());
    expect((await bind(slotA)).status).toBe(409);
    await reportAfter(12, degraded());
    await eventually(() => reservedOf(slotA)).toBe(0);
    expect((await bind(slotA)).status).toBe(202);
  });

  it('is described again after a heartbeat while it is watched', async () => {
    await report(unhealthy());
    await reportAfter(1, card(slotA));
    expect(await jobsOfHeartbeat(card(slotA))).toEqual([expect.stringContaining('-rediscover-')]);
  });

  it('whose fault comes back is watched anew', async () => {
    await report(unhealthy());
    await reportAfter(1, card(slotA));
    await reportAfter(9, unhealthy());
    await reportAfter(12, card(slotA));
    await reportAfter(21, card(slotA));
    expect((await bind(slotA)).status).toBe(409);
    await reportAfter(23, card(slotA));
    expect((await bind(slotA)).status).toBe(202);
  });
});

describe('a card in another slot', () => {
  // Other hosts have other cards.
  const serial = (card: number) => `${host}-s${card}`;
  const healthAt = async (address: string) => {
    const { devices } = await world.deps.store.inventory.host(host);
    return devices.find((device) => device.address === address)?.health;
  };

  it('is offered at once where no handle is held', async () => {
    await report(card(slotA, { identity: serial(1) }));
    await report(card(slotB, { identity: serial(1) }));
    expect((await bind(slotB)).status).toBe(202);
  });

  it('goes to no server while handles at its earlier place are held', async () => {
    await report(card(slotA, { identity: serial(1) }));
    const { instance } = await bind(slotA);
    for (const _ of [1, 2]) await report(card(slotB, { identity: serial(1) }));
    const { status, text } = await bind(slotB);
    expect([status, text]).toEqual([409, expect.stringContaining(`was at ${slotA}, and 1 attach`)]);
    await eventually(() => reservedOf(slotB)).toBe(2);
    await world.deleteArqsOf(instance);
    await report(card(slotB, { identity: serial(1) }));
    expect((await bind(slotB)).status).toBe(202);
  });

  it('that was swapped goes to no server at either place while handles are held', async () => {
    const before = [card(slotA, { identity: serial(1) }), card(slotB, { identity: serial(2) })];
    const after = [card(slotA, { identity: serial(2) }), card(slotB, { identity: serial(1) })];
    await report(...before);
    const { instance } = await bind(slotA);
    for (const _ of [1, 2]) await report(...after);
    expect((await bind(slotA)).text).toContain('is another card than before');
    expect((await bind(slotB)).text).toContain(`is the card that was at ${slotA}`);
    await world.deleteArqsOf(instance);
    await report(...after);
    expect([await healthAt(slotA), await healthAt(slotB)]).toEqual([undefined, undefined]);
    expect((await bind(slotB)).status).toBe(202);
  });

  it('that could not tell its serial number for a while is still known', async () => {
    await report(card(slotA, { identity: serial(1) }));
    await bind(slotA);
    await report(card(slotA));
    await report(card(slotB, { identity: serial(1) }));
    expect((await bind(slotB)).status).toBe(409);
  });

  it('is described again after each heartbeat until it is offered', async () => {
    const moved = card(slotB, { identity: serial(1) });
    await report(card(slotA, { identity: serial(1) }));
    await bind(slotA);
    await report(moved);
    expect(await jobsOfHeartbeat(moved)).toEqual([expect.stringContaining('-rediscover-')]);
  });
});
