import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Card, openKnownCards } from '#agent/drivers/xilinx-fpga/cards.ts';
import { shellInterface, shellPlatform } from '#test/drivers/xilinx-fpga/xclbin.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();

function aCard(bus: string): Card {
  const of = (fn: string, productId: string) => ({
    address: `0000:${bus}:00.${fn}`,
    path: '',
    vendorId: '10ee',
    productId,
    subsystemId: '10ee:000e',
    classCode: '120000',
  });
  return { management: of('0', '5004'), user: of('1', '5005') };
}

const facts = { interfaces: [shellInterface], platforms: [shellPlatform] };
const image = '0f1a2b3c-0000-4000-8000-00000000000a';
const content = { boot_id: 'boot-1', function: image, image };

it('keeps the facts of cards that are read at the same time', async () => {
  const cards = ['17', '3b', '5e', '86', 'af', 'd8'].map(aCard);
  const known = openKnownCards(directory);
  await Promise.all(cards.map((card) => known.keep(card, facts)));
  const again = openKnownCards(directory);
  for (const card of cards) expect(await again.get(card)).toMatchObject(facts);
});

it('forgets a content on disk also after an attempt that could not be written', async () => {
  const card = aCard('d8');
  const known = openKnownCards(directory);
  await known.keep(card, { ...facts, content });
  // The file cannot be replaced.
  const blocker = join(directory, 'cards.json.new');
  mkdirSync(blocker);
  await expect(known.forgetContent(card)).rejects.toThrow('EISDIR');
  rmSync(blocker, { recursive: true });
  await known.forgetContent(card);
  expect(await openKnownCards(directory).get(card)).not.toHaveProperty('content');
});
