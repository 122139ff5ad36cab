// Many concurrent operations on the real engine: if several want the same thing, one gets it, and
// the others leave nothing behind.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { BindTarget } from '#core/domain/arq/bind-plan.ts';
import { type InstanceUuid, providerUuid } from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { deleteArqs, deleteArqsOfInstance } from '#core/operations/release/delete-arqs.ts';
import { aCaller, bootIdOf, nextInstance } from '#test/support/builders.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { startWorld, type World } from '#test/support/world.ts';

/** Rounds of each race; CONCURRENCY_ROUNDS=143 makes a thousand in all. */
const rounds = Number(process.env.CONCURRENCY_ROUNDS ?? 8);
/**
 * Rounds before a new engine starts: an engine keeps all records of its streams and slows down.
 */
const roundsPerWorld = 8;
const many = 64;
const handleCount = 4;
const provider = providerUuid('cmp1_FakeDevice');
const nova = aCaller();

let world: World;
let boots = 0;

async function anArq(): Promise<Arq> {
  const [arq] = await createArqs(world.deps, nova, 'fpga');
  if (!arq) throw new Error('The profile makes one ARQ.');
  return arq;
}

async function arqsOf(count: number): Promise<Arq[]> {
  return Promise.all(Array.from({ length: count }, anArq));
}

function bind(arq: Arq, instanceUuid: InstanceUuid): Promise<void> {
  const target: BindTarget = {
    arqUuid: arq.uuid,
    hostname: 'cmp1',
    providerUuid: provider,
    instanceUuid,
  };
  return bindArqs(world.deps, nova, [target]);
}

async function claims() {
  const stored = await world.deps.store.inventory.provider(provider);
  return (stored?.handles ?? []).flatMap(({ claim }) => claim ?? []);
}

async function fulfilledOf(all: readonly Promise<void>[]): Promise<number> {
  const settled = await Promise.allSettled(all);
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

async function cleanUp(arqs: readonly Arq[]): Promise<void> {
  await deleteArqs(
    world.deps,
    nova,
    arqs.map(({ uuid }) => uuid),
  ).catch(() => {});
  expect(await claims()).toEqual([]);
}

const worlds = Array.from({ length: Math.ceil(rounds / roundsPerWorld) }, (_, index) => index + 1);

describe.each(worlds)('world %i', (number) => {
  beforeAll(async () => {
    world = await startWorld();
    boot = {};
    await world.report('cmp1', [aDevice({ handles: handleCount })]);
    await world.createProfile('fpga', { 'resources:FPGA': '1' });
  });
  afterAll(() => world.stop());

  const before = (number - 1) * roundsPerWorld;
  const own = Array.from({ length: Math.min(roundsPerWorld, rounds - before) }, (_, i) => i + 1);
  describe.each(own)('round %i', race);
});

/** The boot id that the host's reports name; with an earlier one they would be another agent's. */
let boot: { readonly boot_id?: string } = {};

function race(): void {
  it('gives the last handles to as many binds as there are handles', async () => {
    const arqs = await arqsOf(many);
    const won = await fulfilledOf(arqs.map((arq) => bind(arq, nextInstance())));
    expect(won).toBe(handleCount);
    expect(new Set((await claims()).map(({ arqUuid }) => arqUuid)).size).toBe(handleCount);
    await cleanUp(arqs);
  });

  it('binds an instance once, of many binds with different ARQs', async () => {
    const arqs = await arqsOf(many);
    const instance = nextInstance();
    expect(await fulfilledOf(arqs.map((arq) => bind(arq, instance)))).toBe(1);
    expect(await claims()).toHaveLength(1);
    await cleanUp(arqs);
  });

  it('binds an ARQ once, of many binds to different instances', async () => {
    const arq = await anArq();
    const binds = Array.from({ length: many }, () => bind(arq, nextInstance()));
    expect(await fulfilledOf(binds)).toBe(1);
    expect(await claims()).toHaveLength(1);
    await cleanUp([arq]);
  });

  it('gives many identical binds the same answer', async () => {
    const arq = await anArq();
    const instance = nextInstance();
    const binds = Array.from({ length: many }, () => bind(arq, instance));
    expect(await fulfilledOf(binds)).toBe(many);
    expect(await claims()).toHaveLength(1);
    await cleanUp([arq]);
  });

  it('leaves no claim after concurrent binds and deletes', async () => {
    const arqs = await arqsOf(8);
    const instance = nextInstance();
    await Promise.allSettled(
      arqs.flatMap((arq, index) => [
        bind(arq, index % 2 === 0 ? instance : nextInstance()),
        deleteArqs(world.deps, nova, [arq.uuid]),
        deleteArqsOfInstance(world.deps, nova, instance),
      ]),
    );
    await cleanUp(arqs);
  });

  it('leaves no claim on a device that disappears during the binds', async () => {
    const arqs = await arqsOf(handleCount);
    const vanish = world.report('cmp1', [], { ...boot, sequence: 2 });
    await Promise.allSettled([...arqs.map((arq) => bind(arq, nextInstance())), vanish]);
    await cleanUp(arqs);
    await world.report('cmp1', [aDevice({ handles: handleCount })], { ...boot, sequence: 3 });
    const stored = await world.deps.store.inventory.provider(provider);
    expect(stored?.handles.filter(({ isGone }) => !isGone)).toHaveLength(handleCount);
  });

  it('leaves no handle claimed twice when the host reboots during the binds', async () => {
    const arqs = await arqsOf(many / 4);
    boots += 1;
    const boot_id = bootIdOf(boots);
    boot = { boot_id };
    const report = aReport([aDevice({ handles: handleCount })], { boot_id, sequence: 1 });
    const booting = applySettled(world.deps, 'cmp1', report, Date.now() + boots);
    const won = await fulfilledOf(arqs.map((arq) => bind(arq, nextInstance())));
    await booting;
    expect(won).toBe(handleCount);
    expect(new Set((await claims()).map(({ arqUuid }) => arqUuid)).size).toBe(handleCount);
    await cleanUp(arqs);
  });
}
