// A card that moves to another host while something of its last holder may be on it.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { providerUuid, type ReleaseId } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { retryCleaning } from '#core/operations/work-ends/retry-cleaning.ts';
import { aJobEnd, nextInstance } from '#test/support/builders.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const slot = '0000:3b:00.0';
const minuteMs = 60_000;
const world = perFile(startWorld);
let round = 0;

/** Minutes that have passed for reports and for the control plane. */
let minutes = 0;

beforeAll(() => world.createProfile('disk', { 'resources:CUSTOM_NVME': '1' }));

beforeEach(() => {
  round += 1;
  minutes = 0;
});

const hostOf = (letter: string) => `cmp${round}${letter}`;
const depsNow = (given: Partial<ConsumerDeps> = {}): ConsumerDeps => ({
  ...world.deps,
  ...given,
  clock: () => Date.now() + minutes * minuteMs,
});

function card({ cleans = true, serial = `serial-${round}` as string | undefined } = {}) {
  return aDevice({
    address: slot,
    provider_suffix: undefined,
    type: 'SSD',
    ...(serial && { identity: serial }),
    offers: {
      resource_class: 'CUSTOM_NVME',
      traits: [],
      attach_handles: [{ ...aHandle(1), ...(cleans && { clean_seconds: 60 }) }],
    },
  });
}

/** Reports, a minute later. */
async function report(letter: string, devices = [card()], given: Partial<ConsumerDeps> = {}) {
  minutes += 1;
  await world.report(hostOf(letter), devices, {}, depsNow(given));
}

const deviceOn = async (letter: string): Promise<Device | undefined> =>
  (await world.deps.store.inventory.host(hostOf(letter))).devices[0];

async function handleOn(letter: string): Promise<AttachHandle | undefined> {
  const found = await world.deps.store.inventory.provider(
    providerUuid(`${hostOf(letter)}_${slot}`),
  );
  return found?.handles[0];
}

async function bind(letter: string) {
  const arqs = await world.createArqs('disk');
  const instance = nextInstance();
  const host = hostOf(letter);
  const target = { host, provider: providerUuid(`${host}_${slot}`), instance };
  const { status, text } = await world.bindArqs(arqs, target);
  return { instance, status, text };
}

/** A server had the card of host a, and is deleted. */
async function leaveCard(): Promise<void> {
  await report('a');
  const { instance } = await bind('a');
  await world.deleteArqsOf(instance);
}

/** The host's answer to the release that its handle waits for. */
async function clean(letter: string, operation: 'succeeded' | 'failed' = 'succeeded') {
  const release = (await handleOn(letter))?.release;
  expect(release).toBeDefined();
  await finishJob(depsNow(), aJobEnd(`${stage}-release-${release}`, { operation }));
  return release as ReleaseId;
}

async function incidentsOf(kind: string) {
  const { json } = await world.ask('GET', `/operator/v1/incidents?kind=${kind}`, {
    token: 'admin-token',
  });
  const incidents: readonly { hostname: string; reason: string }[] = json.incidents;
  return incidents.filter(({ hostname }) => hostname.startsWith(`cmp${round}`));
}

it('is offered at once where nothing is left of a holder', async () => {
  await report('a');
  await report('a', []);
  await report('b');
  expect((await bind('b')).status).toBe(202);
});

describe('a card that is not clean where it was', () => {
  it('is cleaned by its new host before it is offered; an operator ends its record', async () => {
    await leaveCard();
    await clean('a', 'failed');
    await report('a', []);
    await report('b');
    const refused = await bind('b');
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining(`was at ${slot} of host ${hostOf('a')}, and 1 attach handles`),
    ]);
    expect((await incidentsOf('unhealthy-device')).map(({ hostname }) => hostname)).toEqual([
      hostOf('b'),
    ]);
    expect(await incidentsOf('moved-card')).toMatchObject([{ hostname: hostOf('a') }]);
    // Its host works on it, and no bind gets it meanwhile.
    await report('b');
    expect((await bind('b')).status).toBe(409);
    await clean('b');
    await report('b');
    expect((await bind('b')).status).toBe(202);
    expect(await incidentsOf('moved-card')).toEqual([]);
    // The operator knows where the card is, which no host proves.
    const uuid = deviceUuid(hostOf('a'), slot);
    const path = `/v2/devices/${uuid}/force_release`;
    const body = { cleaned: true, reason: 'It is in another host.' };
    expect(await world.ask('POST', path, { body })).toMatchObject({ status: 200 });
    expect(await handleOn('a')).not.toHaveProperty('quarantine');
  });

  it('stays unclean where it was, whatever another host says that it has cleaned', async () => {
    await leaveCard();
    const left = await clean('a', 'failed');
    // The card has only failed to show itself. Another host names its serial number.
    await report('a', []);
    await report('b');
    await clean('b');
    await report('b');
    minutes += 30;
    const work = await world.deps.store.releases.release(left);
    if (work) await retryCleaning(depsNow(), work, new Map());
    await report('b', []);
    for (const letter of ['a', 'c']) {
      await report(letter);
      expect([letter, (await bind(letter)).status]).toEqual([letter, 409]);
    }
    await clean('c');
    await report('c');
    expect((await bind('c')).status).toBe(202);
  });

  it('stays withheld while its new host cannot clean it', async () => {
    await leaveCard();
    await report('a', []);
    await report('b');
    await clean('b', 'failed');
    for (const _ of [1, 2]) await report('b');
    expect((await bind('b')).status).toBe(409);
    expect((await deviceOn('b'))?.cardCleaning?.cleanedAt).toBeUndefined();
  });

  it('stays withheld where its new host cleans nothing', async () => {
    await leaveCard();
    await report('a', []);
    for (const _ of [1, 2]) await report('b', [card({ cleans: false })]);
    expect((await bind('b')).status).toBe(409);
    expect(await handleOn('b')).not.toHaveProperty('release');
  });

  it('is withheld again where it moves to a third host before it is clean', async () => {
    await leaveCard();
    await report('a', []);
    await report('b');
    await report('b', []);
    await report('c');
    expect((await bind('c')).status).toBe(409);
    await clean('c');
    await report('c');
    expect((await bind('c')).status).toBe(202);
  });
});

describe('a card that a server holds where it was', () => {
  it('is not cleaned and not offered until the server is deleted', async () => {
    await report('a');
    const { instance } = await bind('a');
    // The first host has lost its power: it does not report that the card is gone.
    for (const _ of [1, 2]) await report('b');
    expect((await bind('b')).status).toBe(409);
    expect(await handleOn('b')).not.toHaveProperty('release');
    await world.deleteArqsOf(instance);
    await report('b');
    await clean('b');
    await report('b');
    expect((await bind('b')).status).toBe(202);
  });

  it('is another one where the first host goes on showing it', async () => {
    await report('a');
    await bind('a');
    await report('b');
    expect((await bind('b')).status).toBe(409);
    await report('a');
    await report('b');
    expect((await bind('b')).status).toBe(202);
  });
});

it('is looked up once in a report, without the rows of its own host', async () => {
  const cards = [1, 2, 3, 4].map((at) => ({ ...card(), address: `0000:0${at}:00.0` }));
  const { devicesOfCard } = world.deps.listings;
  const hosts: unknown[] = [];
  const listings: typeof world.deps.listings = {
    ...world.deps.listings,
    devicesOfCard: async (...asked) => {
      const found = await devicesOfCard(...asked);
      hosts.push(found === 'too-many' ? found : found.map(({ hostname }) => hostname));
      return found;
    },
  };
  const [a, b] = [hostOf('a'), hostOf('b')];
  await report('a', cards.slice(0, 3), { listings });
  await report('b', cards.slice(0, 3), { listings });
  await report('a', cards, { listings });
  expect(hosts).toEqual([[], [a, a, a], [b, b, b]]);
});

describe('a card that no record names', () => {
  const cleaning = () => ({
    settings: { ...world.deps.settings, cleanAtFirstSight: ['CUSTOM_NVME'] },
  });

  it('is offered at once, unless its class is cleaned at first sight', async () => {
    await report('a');
    expect((await bind('a')).status).toBe(202);
    round += 1;
    await report('a', [card()], cleaning());
    const { status, text } = await bind('a');
    expect([status, text]).toEqual([409, expect.stringContaining('since it was first seen')]);
    await clean('a');
    await report('a', [card()], cleaning());
    expect((await bind('a')).status).toBe(202);
  });

  it('without a serial number is cleaned at first sight, too, and only then', async () => {
    const bare = card({ serial: undefined });
    await report('a', [bare], cleaning());
    await clean('a');
    await report('a', [bare], cleaning());
    const { instance } = await bind('a');
    await world.deleteArqsOf(instance);
    await clean('a');
    await report('a', [{ ...bare, firmware: '2' }], cleaning());
    expect((await bind('a')).status).toBe(202);
  });
});
