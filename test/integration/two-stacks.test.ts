// Two stacks that know the same host share one Placement: the uuids of their providers are equal,
// and each touches its own only.

import { beforeEach, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const ours = 'CUSTOM_CYBORG_STACK_TEST';
const theirs = 'CUSTOM_CYBORG_STACK_BLUE_2';
const traits = ['CUSTOM_FAKE_DEVICE', 'CUSTOM_FPGA_ABCD_ABCD'];
const world = perFile(startWorld);
let host: string;
let hosts = 0;
const logged: string[] = [];

beforeEach(async () => {
  hosts += 1;
  host = `cmp${hosts}`;
  logged.length = 0;
  await world.startComputeNode(host);
});

/** The second stack, whose tables know the same host. */
const asStack = (stage: string) => ({
  ...world.deps,
  settings: { ...world.deps.settings, stage },
  log: { ...world.deps.log, error: (message: string) => void logged.push(message) },
});

const provider = () => providerUuid(`${host}_FakeDevice`);
const placement = () => world.deps.clients.placement;
const sync = (stage = 'test') => syncProviders(asStack(stage), provider(), 1);

async function stateInPlacement() {
  const [held, inventories] = await Promise.all([
    placement().getTraits(provider()),
    placement().getInventories(provider()),
  ]);
  return held && { traits: held.traits.sort(), inventories: inventories?.inventories };
}

it('marks each provider with its stack', async () => {
  await world.report(host, [aDevice()]);
  await sync();
  expect((await stateInPlacement())?.traits).toEqual([ours, ...traits, 'OWNER_CYBORG'].sort());
});

it('changes nothing of a provider of another stack, and says so', async () => {
  await world.report(host, [aDevice()]);
  await sync('blue-2');
  const before = await stateInPlacement();
  expect(before?.traits).toContain(theirs);
  await world.report(host, [aDevice({ handles: 1 })]);
  await sync();
  expect(await stateInPlacement()).toEqual(before);
  expect(logged).toEqual(['Device offered by another stack, too: forget its host there']);
  const [row] = await compareHost(world.deps, host);
  expect(row?.placement).toContain(`of another stack (${theirs}): not touched`);
  expect(row?.agrees).toBe(false);
});

it('keeps the provider of another stack when the device ends here', async () => {
  await world.report(host, [aDevice()]);
  await sync('blue-2');
  const before = await stateInPlacement();
  await world.report(host, []);
  await sync();
  expect(await stateInPlacement()).toEqual(before);
  expect(await world.deps.store.inventory.provider(provider())).toBeUndefined();
  // The message of a sync whose rows are gone.
  await sync();
  expect(await stateInPlacement()).toEqual(before);
});

it('takes over when the other stack has removed its provider', async () => {
  await world.report(host, [aDevice()]);
  await sync('blue-2');
  await sync();
  expect((await stateInPlacement())?.traits).not.toContain(ours);
  await placement().deleteProvider(provider());
  await sync();
  expect((await stateInPlacement())?.traits).toContain(ours);
});

it('takes over a provider without a mark, as of Cyborg', async () => {
  await world.report(host, [aDevice()]);
  await sync('blue-2');
  const { generation = 0 } = (await placement().getTraits(provider())) ?? {};
  await placement().putTraits(provider(), generation, ['OWNER_CYBORG', ...traits]);
  await sync();
  expect((await stateInPlacement())?.traits).toContain(ours);
});
