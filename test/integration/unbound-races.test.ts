// Creations at the limit of unbound ARQs, while other requests delete and create some.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { deleteArqs } from '#core/operations/release/delete-arqs.ts';
import { aCaller } from '#test/support/builders.ts';
import { withStore } from '#test/support/deps.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const nova = aCaller();
const world = perFile(() => startWorld({ settings: { CYBORG_UNBOUND_ARQS_MAX: '4' } }));
let stored: readonly Arq[];

beforeAll(() => world.createProfile('two', { 'resources:FPGA': '2' }));

beforeEach(async () => {
  const { arqs } = (await world.ask('GET', '/v2/accelerator_requests')).json;
  await drop(arqs);
  await create();
  stored = await create();
});

const create = (deps: NovaDeps = world.deps) => createArqs(deps, nova, 'two');
const drop = (arqs: readonly { readonly uuid: string }[]) =>
  deleteArqs(
    world.deps,
    nova,
    arqs.map(({ uuid }) => uuid as ArqUuid),
  );

/**
 * A creation that reads two free places when it tidies, which another creation takes first.
 *
 * @param afterwards runs when the creation has found them taken
 */
function createTooLate(
  afterwards?: (taken: readonly Arq[]) => Promise<unknown>,
): Promise<readonly Arq[]> {
  const { unbound } = world.deps.store;
  let reads = 0;
  let taken: readonly Arq[] = [];
  const racing = withStore(world.deps, {
    unbound: {
      read: async (part) => {
        reads++;
        if (reads === 2) await drop(stored);
        const content = await unbound.read(part);
        if (reads === 2) taken = await create();
        return content;
      },
      take: async (...args) => {
        const content = await unbound.take(...args);
        if (reads === 2 && !content) await afterwards?.(taken);
        return content;
      },
    },
  });
  return create(racing);
}

it('is refused with what there is, when another creation was first', async () => {
  await expect(createTooLate()).rejects.toThrow('has 4 accelerator requests');
});

it('has its places when the other creation has given them back', async () => {
  expect(await createTooLate(drop)).toHaveLength(2);
});
