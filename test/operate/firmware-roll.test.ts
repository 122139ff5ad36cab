// `cyborg-ops firmware roll` against the whole control plane: 20 cards on 5 hosts, and one that
// fails.

import { beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { password } from '#local/openstack/keystone/catalog.ts';
import { createFetch } from '#operate/any-port-fetch.ts';
import { run } from '#operate/ops/run.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { failure, startComponentFleet } from './component-fleet.ts';

const fleet = perFile(startComponentFleet);
let version = '2.0';
const killed = new Error('The command is killed.');
let image: string;

async function prepare(next: string): Promise<void> {
  version = next;
  image = await fleet.anImage(version);
}

beforeAll(() => prepare('2.0'));

interface Given {
  readonly options?: readonly string[];
  /** Number of looks after which the command is killed. */
  readonly looks?: number;
}

/** The command of an operator. Each time that it waits, the hosts work. */
async function roll({ options = [], looks = Number.POSITIVE_INFINITY }: Given = {}) {
  const out: string[] = [];
  const said: string[] = [];
  let waits = 0;
  let now = Date.now();
  const words = ['firmware', 'roll', '8086:0b30', 'bmc', '--image', image, ...options];
  const exitCode = await run(words, {
    environment: {
      OS_AUTH_URL: fleet.world.urls.keystone,
      OS_USERNAME: 'admin',
      OS_PASSWORD: password,
      OS_PROJECT_NAME: 'admin',
      OS_ACCELERATOR_ENDPOINT_OVERRIDE: `${fleet.world.apiUrl}/accelerator`,
    },
    readFile: () => undefined,
    createFetch,
    clock: () => now,
    sleep: async (milliseconds) => {
      now += Math.max(milliseconds, 120_000);
      waits += 1;
      const hosts = (await fleet.underWay()).map(({ host }) => host);
      atOnce.push(hosts.length);
      expect(hosts).toEqual([...new Set(hosts)]);
      if (waits > looks) throw killed;
      await fleet.work(version, now);
    },
    width: Number.POSITIVE_INFINITY,
    out: (text) => out.push(text),
    show: (line) => out.push(line),
    err: (text) => said.push(text),
  });
  return { exitCode, out: out.join('\n'), said };
}

/** How many cards were programmed at a time. */
const atOnce: number[] = [];
const done = () => fleet.cards.filter(({ runs }) => runs === version);

it('shows what it would do, and changes nothing', async () => {
  const { exitCode, out } = await roll({ options: ['--dry-run', '--at-once', '3'] });
  expect(exitCode).toBe(0);
  expect(out.match(/ cmp\d +1\.0 +program 2\.0/g)).toHaveLength(20);
  expect(out).toContain('20 devices of 20 to program with bmc 2.0; nothing changed.');
  expect(await fleet.underWay()).toEqual([]);
});

it('is killed, goes on, stops at the card that fails, and ends when the card is repaired', async () => {
  const options = ['--at-once', '3'];
  const first = await roll({ options, looks: 3 });
  expect(first).toMatchObject({
    exitCode: 1,
    said: expect.arrayContaining([expect.stringContaining(killed.message)]),
  });
  expect(done().length).toBeGreaterThan(0);
  expect(await fleet.underWay()).toHaveLength(3);

  const busy = await fleet.underWay();
  const bad = fleet.cards.find(
    (card) => card.host === 'cmp3' && card.runs !== version && !busy.includes(card),
  );
  if (!bad) throw new Error('There is no card of cmp3.');
  fleet.failing.add(bad);
  const second = await roll({ options });
  expect(second.exitCode).toBe(1);
  const { uuid } = await fleet.deviceAt(bad);
  expect(second.out).toContain(
    `Stopped: device ${uuid} of host cmp3 failed at step program: ${failure}`,
  );
  expect(second.out).toMatch(/Not begun: \d+ devices\./);
  expect(done().length).toBeLessThan(20);
  expect(fleet.programmed.length).toBeLessThan(20);

  const third = await roll({ options });
  expect(third).toMatchObject({ exitCode: 0, out: expect.stringContaining('20 devices with 2.0') });
  expect(done()).toHaveLength(20);
  // The card that failed had two programs, and each other one.
  expect(fleet.programmed).toHaveLength(21);
  expect(new Set(fleet.programmed).size).toBe(20);
  expect(Math.max(...atOnce)).toBe(3);
  const { json } = await fleet.world.ask('GET', '/v2/devices');
  expect(new Set(json.devices.map(({ status }) => status))).toEqual(new Set(['enabled']));
});

it('has nothing to do where all devices run the version', async () => {
  const { exitCode, out } = await roll();
  expect([exitCode, out]).toEqual([0, '20 devices with 2.0: 0 programmed, 20 before.']);
});

it('stops at a card with a fault after its program', async () => {
  await prepare('2.1');
  for (const card of fleet.cards.filter(({ host }) => host === 'cmp1')) card.fault = 'has no link';
  const { exitCode, out, said } = await roll({ options: ['--host', 'cmp1'] });
  expect(exitCode).toBe(1);
  expect(out).toMatch(/of host cmp1 failed at step health: The device has no link\./);
  expect(out).toContain('Not begun: 3 devices.');
  expect(said).toContainEqual(expect.stringContaining('programmed; The device has no link.'));
});

it('stops at a card in use, unless it may drain it', async () => {
  await prepare('2.2');
  await fleet.world.createProfile('fpga', { 'resources:FPGA': '1' });
  const [card] = fleet.cards.filter(({ host }) => host === 'cmp5');
  if (!card) throw new Error('There is no card of cmp5.');
  const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
  const provider = providerUuid(`cmp5_${card.address}`);
  await fleet.world.createBound('fpga', { provider, instance, host: 'cmp5' });
  const options = ['--host', 'cmp5'];
  const refused = await roll({ options });
  expect(refused).toMatchObject({
    exitCode: 1,
    out: expect.stringMatching(/of host cmp5 failed at step start: .* cannot be programmed now/),
  });
  const drained = await roll({ options: [...options, '--drain'], looks: 6 });
  expect(drained.said).toContainEqual(expect.stringMatching(/ of cmp5: draining$/));
  expect(card.runs).toBe('2.0');
  await fleet.remove(instance);
  const later = Date.now() + 5 * 60_000;
  await sweep({ ...fleet.deps, clock: () => later });
  expect(await roll({ options: [...options, '--drain'] })).toMatchObject({ exitCode: 0 });
  expect(card.runs).toBe('2.2');
});
