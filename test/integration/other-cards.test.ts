// An agent that has lost its state, and another card at the address of an offered device: what the
// control plane stored decides.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { createDescribeCards } from '#agent/process/describe-cards.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { confirmAddress, openConfirmations } from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { cardsMessage } from '#core/contracts/jobs/work-message.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import type { InventoryReport, ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { silentLog } from '#core/log.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { nextInstance } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { aDevice, aHandle, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile, perTest } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const slot = '0000:41:00.0';
const [offeredAt, lostAt] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z'];
const gpuIds = '10de:26b9 030200 10de:1851';
const ssdIds = '144d:a80a 010802 144d:aa0a';
const reason = `is 144d:a80a of class 010802, and 10de:26b9 was offered here: confirm it by cyborg-agent confirm ${slot}, or name its ids in its entry`;

const world = perFile(() => startWorld({ consumers: true }));
let round = 0;
let host = '';

beforeAll(() => world.createProfile('gpu', { 'resources:PGPU': '1' }));

beforeEach(() => {
  round += 1;
  host = `cmp${round}`;
});

type Card = NonNullable<ReportedDevice['card']>;
/** Undefined for an agent that names no card. */
type ReportedCard = Partial<Card> | undefined;

function aCard(card: ReportedCard, given: Partial<ReportedDevice> = {}): ReportedDevice {
  const { identity = gpuIds, ...rest } = card ?? {};
  const [vendor = '', product = ''] = identity.slice(0, 9).split(':');
  return aDevice({
    address: slot,
    provider_suffix: undefined,
    driver: 'pci',
    type: 'GPU',
    vendor,
    product,
    offers: { resource_class: 'PGPU', traits: [], attach_handles: [aHandle(1, 'PCI')] },
    ...(card && { card: { identity, since: offeredAt, ...rest } }),
    ...given,
  });
}

const report = (card: ReportedCard, given: Partial<ReportedDevice> = {}) =>
  world.report(host, [aCard(card, given)], { not_offered: [] });

async function offered() {
  const { devices } = await world.deps.store.inventory.host(host);
  return devices.filter(({ isGone }) => !isGone).map(({ product }) => product);
}

async function bind(provider = providerUuid(`${host}_${slot}`)) {
  const instance = nextInstance();
  const target = { host, provider, instance };
  return { ...(await world.bindArqs(await world.createArqs('gpu'), target)), instance };
}

async function incidents() {
  const { json } = await world.ask('GET', '/operator/v1/incidents', { token: 'admin-token' });
  return json.incidents.flatMap((each: { hostname: string; kind: string; reason: string }) =>
    each.hostname === host && each.kind !== 'failed-bind' ? [[each.kind, each.reason]] : [],
  );
}

const notOffered = [['not-offered', `The device at ${slot} ${reason}.`]];

describe('another card at the address of an offered device', () => {
  it('is refused by name until an operator of the host confirms it', async () => {
    await report({});
    const { status, instance } = await bind();
    expect(status).toBe(202);
    await report({ identity: ssdIds, since: lostAt });
    expect(await offered()).toEqual([]);
    expect((await bind()).status).toBe(404);
    expect((await incidents()).toSorted()).toEqual([
      [
        'device-not-attached',
        `The device at ${slot} is gone from its host, and server ${instance} has lost it (0000:0c:00.1).`,
      ],
      ...notOffered,
    ]);
    await world.deleteArqsOf(instance);
    await report({ identity: ssdIds, since: lostAt, confirmed_at: '2026-11-03T00:00:00.000Z' });
    expect(await offered()).toEqual(['a80a']);
    expect(await incidents()).toEqual([]);
    expect((await bind()).status).toBe(202);
  });

  it('is refused after the row of the device has gone, in heartbeats, and when away', async () => {
    await report({});
    await report({ identity: ssdIds, since: lostAt });
    const other = aCard({ identity: ssdIds, since: lostAt });
    const gone = async () => (await world.deps.store.inventory.host(host)).devices;
    await eventually(gone).toEqual([]);
    const manifest = { [slot]: computeDigest(other) };
    await world.report(host, [], { manifest, not_offered: [] });
    expect(await incidents()).toEqual(notOffered);
    await world.report(host, [], { is_hello: true, failed_drivers: ['pci'] });
    await world.report(host, [], { failed_drivers: ['pci'], not_offered: [] });
    expect(await incidents()).toEqual(notOffered);
    await world.report(host, [], { not_offered: [] });
    expect(await incidents()).toEqual([]);
    // Described in another way.
    await report({ identity: ssdIds, since: lostAt }, { numa_node: 1 });
    expect([await offered(), await incidents()]).toEqual([[], notOffered]);
    // The operator has put the cards right.
    await report({ since: '2026-11-04T00:00:00.000Z' });
    expect([await offered(), await incidents()]).toEqual([['26b9'], []]);
  });

  it('is refused in a report that comes twice, and in one that comes late', async () => {
    await report({});
    const other = aReport([aCard({ identity: ssdIds, since: lostAt })], {
      sequence: 1_000,
      not_offered: [],
    });
    const apply = (each: InventoryReport) => applyReport(world.deps, host, each, Date.now());
    await apply(other);
    await apply(other);
    expect([await offered(), await incidents()]).toEqual([[], notOffered]);
    const right = aReport([aCard({})], { sequence: 1_001, not_offered: [] });
    await apply(right);
    await apply(other);
    expect([await offered(), await incidents()]).toEqual([['26b9'], []]);
  });

  it.each<[string, ReportedCard, ReportedCard]>([
    ['its serial number', { serial: 'a' }, { serial: 'b' }],
    ['its serial number, that was unreadable since', { serial: 'a' }, { serial: 'b' }],
    ['its class', {}, { identity: gpuIds.replace('030200', '030000') }],
    ['its subsystem', {}, { identity: gpuIds.replace('1851', '1852') }],
    ['its ids, in a row of an earlier release', undefined, { identity: ssdIds }],
    [
      'its serial number, and an earlier card of its model was confirmed',
      { serial: 'a', since: lostAt },
      { serial: 'b', confirmed_at: offeredAt },
    ],
  ])('differs by %s', async (what, before, after) => {
    await report(before);
    if (what.includes('unreadable')) await report({ since: lostAt });
    await report({ ...after, since: '2026-11-05T00:00:00.000Z' });
    expect([await offered(), (await incidents()).map(([kind]) => kind)]).toEqual([
      [],
      ['not-offered'],
    ]);
  });

  it.each<[string, ReportedCard, ReportedCard]>([
    ['it is the same', { serial: 'a' }, { serial: 'a' }],
    ['it shows no serial number', { serial: 'a' }, {}],
    ['the row of an earlier release has its ids', undefined, { serial: 'a' }],
    ['its agent is of an earlier release', { serial: 'a' }, undefined],
    ['the settings of its host name its ids', {}, { identity: ssdIds, is_named: true }],
  ])('is offered at once, without an incident, if %s', async (_why, before, after) => {
    await report(before);
    await report(after && { ...after, since: lostAt });
    expect([await offered(), await incidents()]).toEqual([
      [after?.identity === ssdIds ? 'a80a' : '26b9'],
      [],
    ]);
  });
});

describe('the answer to an agent that asks for the cards', () => {
  const sent: unknown[] = [];
  const send = async (_host: string, message: unknown) => void sent.push(message);
  const asking = (devices: readonly ReportedDevice[], more: object = {}) =>
    aReport([...devices], { asks_cards: true, not_offered: [], ...more });
  const answerTo = async (each: InventoryReport, hostMessages = { send }) => {
    sent.length = 0;
    await applyReport(withClients(world.deps, { hostMessages }), host, each, Date.now());
    return sent;
  };
  const boot_id = aReport([]).boot_id;
  const before = { [slot]: { identity: gpuIds, since: offeredAt } };

  it('names those that were offered, in any report, as often as it asks', async () => {
    expect(await answerTo(asking([]))).toEqual([{ boot_id, cards: {} }]);
    await report({});
    const hello = { is_hello: true, failed_drivers: ['pci'], sequence: 1_000 };
    expect(await answerTo(asking([], hello))).toEqual([{ boot_id, cards: before }]);
    const other = asking([aCard({ identity: ssdIds, since: lostAt })], { sequence: 1_001 });
    expect(await answerTo(other)).toEqual([{ boot_id, cards: before }]);
    const again = { ...other, devices: [], sequence: 1_002 };
    expect(await answerTo(again)).toEqual([{ boot_id, cards: before }]);
    const { asks_cards: _, ...quiet } = again;
    expect(await answerTo({ ...quiet, sequence: 1_003 })).toEqual([]);
  });

  it('does not hold up the report where it cannot be sent', async () => {
    const away = { send: () => Promise.reject(new Error('AWS IoT is away')) };
    expect(await answerTo(asking([aCard({})]), away)).toEqual([]);
    expect(await offered()).toEqual(['26b9']);
  });
});

describe('an agent that has lost its state', () => {
  const gpu = { vendor: '10de', product: '26b9', subsystem: '10de:1851', classCode: '030200' };
  const ssd = { vendor: '144d', product: 'a80a', subsystem: '144d:aa0a', classCode: '010802' };
  const node = perTest(aGuardedHost);
  const state = () => join(node.proc.root, 'state');

  function place(fields: typeof gpu, address = slot): void {
    if (node.sysfs.list(`bus/pci/devices/${address}`)) node.tree.removeFunction(address);
    node.tree.addFunction({ address, driver: 'vfio-pci', ...fields });
  }

  /** The first report of an agent that has just started, as it goes to the control plane. */
  async function startAgent(addresses = [slot], entry: object = {}): Promise<void> {
    const context = await node.context();
    const pci = ownDrivers
      .find(({ name }) => name === 'pci')
      ?.configure({
        allow_list: addresses.map((address) => ({ address, resource_class: 'PGPU', ...entry })),
      });
    if (!pci || 'faults' in pci) throw new Error('The driver refuses its settings.');
    const confirmations = openConfirmations(openStateFiles(state()), silentLog);
    const { devices, notOffered } = await createDiscovery({
      drivers: [pci.create(context)],
      describeCards: createDescribeCards({ ...context, confirmations }),
      clock: systemClock,
      log: silentLog,
    })();
    await world.report(
      host,
      devices.map(({ device }) => device),
      { not_offered: [...notOffered] },
    );
  }

  it('offers the same device at once, and another one when an operator has confirmed it', async () => {
    place(gpu);
    await startAgent();
    expect(await offered()).toEqual(['26b9']);
    rmSync(state(), { recursive: true });
    await startAgent();
    expect([await offered(), await incidents()]).toEqual([['26b9'], []]);
    // A card was added, and the addresses are other ones.
    rmSync(state(), { recursive: true });
    place(ssd);
    await startAgent();
    expect([await offered(), await incidents()]).toEqual([[], notOffered]);
    await startAgent();
    expect([await offered(), await incidents()]).toEqual([[], notOffered]);
    const confirmed = { at: new Date().toISOString(), identity: ssdIds };
    await confirmAddress(openStateFiles(state()), silentLog, slot, confirmed);
    await startAgent();
    expect([await offered(), await incidents()]).toEqual([['a80a'], []]);
  });

  // https://github.com/QubesOS/qubes-issues/issues/7792
  it('offers no card at the address of its neighbour after a card was added before both', async () => {
    const next = '0000:42:00.0';
    const larger = { ...gpu, product: '2330', subsystem: '10de:16c1' };
    place(gpu);
    place(larger, next);
    await startAgent([slot, next]);
    expect((await offered()).toSorted()).toEqual(['2330', '26b9']);
    rmSync(state(), { recursive: true });
    place(ssd);
    place(gpu, next);
    place(larger, '0000:43:00.0');
    await startAgent([slot, next]);
    expect(await offered()).toEqual([]);
    const [[kind, text] = [], ...others] = await incidents();
    expect([kind, others]).toEqual(['not-offered', []]);
    expect(text).toContain(reason);
    expect(text).toContain(`${next} is 10de:26b9 of class 030200, and 10de:2330 was offered here`);
    // The card was taken out again.
    rmSync(state(), { recursive: true });
    place(gpu);
    place(larger, next);
    await startAgent([slot, next]);
    expect([(await offered()).toSorted(), await incidents()]).toEqual([['2330', '26b9'], []]);
  });

  describe('and offers a pool', () => {
    const next = '0000:42:00.0';
    const provider = () => providerUuid(`${host}_gpus`);
    /** All units of a pool are of one model, so the other card is, too. */
    const other = { ...gpu, subsystem: '10de:1852' };
    const others = `is 10de:26b9 of class 030200, subsystem 10de:1852, and 10de:26b9 of class 030200, subsystem 10de:1851, was offered here: confirm it by cyborg-agent confirm`;
    const startPool = () => startAgent([slot, next], { pool: 'gpus' });
    const units = async () => {
      const { handles = [] } = (await world.deps.store.inventory.provider(provider())) ?? {};
      return handles.flatMap((each) => (each.isGone ? [] : (pciFunction(each) ?? []))).toSorted();
    };
    const bindUnit = () => bind(provider());
    /** The control plane's answer to the agent, which keeps it. */
    async function learn(): Promise<void> {
      const send = async (_host: string, message: unknown) => {
        const { cards } = cardsMessage.parse(message);
        const offeredBefore = await openOfferedBefore(openStateFiles(state()), silentLog);
        await offeredBefore.learnCards(new Map(Object.entries(cards)));
      };
      const hello = { is_hello: true, asks_cards: true as const, failed_drivers: ['pci'] };
      const deps = withClients(world.deps, { hostMessages: { send } });
      await world.report(host, [], hello, deps);
    }

    beforeEach(async () => {
      place(gpu);
      place(gpu, next);
      await startPool();
      rmSync(state(), { recursive: true });
    });

    it('offers the same units at once', async () => {
      const { devices } = await world.deps.store.inventory.host(host);
      expect(Object.keys(devices[0]?.unitCards ?? {}).toSorted()).toEqual([slot, next]);
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot, next], []]);
      await learn();
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot, next], []]);
    });

    it('offers no other card among them until an operator has confirmed it', async () => {
      expect([await bindUnit(), await bindUnit()]).toMatchObject([
        { status: 202 },
        { status: 202 },
      ]);
      place(other, next);
      const refusal = [
        'not-offered',
        `The device at ${next} ${others} ${next}, or name its ids in its entry.`,
      ];
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot], [refusal]]);
      // The host reports again, in a heartbeat and in whole.
      const { devices } = await world.deps.store.inventory.host(host);
      const manifest = Object.fromEntries(devices.map(({ address, digest }) => [address, digest]));
      await world.report(host, [], { manifest, not_offered: [] });
      expect(await incidents()).toEqual([refusal]);
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot], [refusal]]);
      // Its agent has the answer, and compares.
      await learn();
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot], [refusal]]);
      const identity = '10de:26b9 030200 10de:1852';
      const confirmed = { at: new Date().toISOString(), identity };
      await confirmAddress(openStateFiles(state()), silentLog, next, confirmed);
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot, next], []]);
    });

    it('remembers the cards of a pool that was away, and of a unit that was', async () => {
      node.tree.removeFunction(next);
      await startPool();
      rmSync(state(), { recursive: true });
      // A pool of two models is not offered.
      place({ ...gpu, product: '2330' }, next);
      await startPool();
      expect(await units()).toEqual([]);
      rmSync(state(), { recursive: true });
      place(other, next);
      place(other);
      await startPool();
      expect(await units()).toEqual([]);
      expect((await incidents())[0]?.[1]).toContain(`${slot} ${others}`);
      expect((await incidents())[0]?.[1]).toContain(`${next} ${others}`);
      expect((await bindUnit()).text).toContain('fewer than 1 free');
      rmSync(state(), { recursive: true });
      place(gpu);
      place(gpu, next);
      await startPool();
      expect([await units(), await incidents()]).toEqual([[slot, next], []]);
    });
  });
});
