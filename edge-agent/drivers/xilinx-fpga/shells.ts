// The shell of an Alveo card, which XRT's program xbmgmt writes: its base in the card's flash, and
// on cards with a shell of two stages the upper part, which the base loads until the next boot.

import { copyFile, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  ComponentImage,
  Components,
  ReportedComponent,
} from '#agent/drivers/contract/driver.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { readBaseImage } from '#agent/images/xclbin.ts';
import type { CardFacts } from './cards.ts';
import { flashBase, loadShell } from './tools.ts';
import { chooseTools, onItsDrivers, readCard, untilReady, type Work } from './work.ts';

interface KnownCard {
  readonly facts: CardFacts;
  readonly work: Work;
}

interface ShellDeps {
  /** @throws a sentence for a card that is not offered, or is not the one that was read */
  readonly find: (address: string) => Promise<KnownCard>;
  /** One operation of a card at a time. */
  readonly hold: (address: string, act: () => Promise<void>) => Promise<void>;
}

/** The component `shell` of a card whose base has loaded none. */
const noShell = 'none';

export function alveoComponents({ find, hold }: ShellDeps): Components {
  const cardOf = async ({ address, component }: ComponentImage) => {
    const card = await find(address);
    if (!toComponents(card.facts).some(({ name }) => name === component)) {
      throw new Error(`The device at ${address} has no component ${component}.`);
    }
    return card;
  };
  return {
    list: async (address) => {
      const card = await find(address).catch(() => undefined);
      return card ? toComponents(card.facts) : [];
    },
    check: async (image) => {
      const { facts } = await cardOf(image);
      if (image.component === 'base') await checkBase(image, facts);
      else if ((await stat(image.imagePath)).size === 0) {
        throw new ImageRefused('The image is empty.');
      }
    },
    write: async (image, onProgress) => {
      const { address, component } = image;
      await hold(address, async () => {
        const { facts, work } = await cardOf(image);
        onProgress(0);
        await withSuffix(work, image, async (path) => {
          await onItsDrivers(work, () =>
            component === 'base' ? writeBase(work, facts, path) : writeShell(work, facts, path),
          );
        });
        onProgress(100);
      });
    },
    activate: async (image) => {
      await cardOf(image);
      return image.component === 'base' ? 'power-cycle' : 'active';
    },
  };
}

function toComponents({ base, platforms }: CardFacts): readonly ReportedComponent[] {
  if (base === undefined) return [];
  const upper = platforms.length > 1 ? platforms.at(-1) : undefined;
  return [
    { name: 'base', version: toVersion(base) },
    { name: 'shell', version: toVersion(upper ?? noShell) },
  ];
}

/** The card must be read again after the boot that runs what was written. */
async function writeBase(work: Work, facts: CardFacts, path: string): Promise<void> {
  await work.records.keep(work.card, { ...facts, flashed: work.context.bootId });
  await flashBase(chooseTools(work), path);
}

/** The next boot forgets the upper part, so the card must be read again after it. */
async function writeShell(work: Work, facts: CardFacts, path: string): Promise<void> {
  // A crash leaves the content of the card unknown.
  const { content: _, ...others } = facts;
  await work.records.keep(work.card, { ...others, flashed: work.context.bootId });
  await loadShell(chooseTools(work), path);
  await untilReady(work);
  await readCard(work);
}

/** Before anything is written: a base of another board can make the card useless. */
async function checkBase({ imagePath, version }: ComponentImage, { base }: CardFacts) {
  const platform = await readBaseImage(imagePath);
  // The program ends well only if the card then shows exactly its version.
  const expected = shownByCard(platform);
  if (expected !== version) {
    throw new ImageRefused(`The image is platform ${expected}, not ${version}.`);
  }
  if (boardOf(platform) !== boardOf(base ?? '')) {
    throw new ImageRefused(`The image is for ${boardOf(platform)}, the card is ${base}.`);
  }
}

/** Vendor and board of `xilinx_u250_gen3x16_base_4`. */
function boardOf(platform: string): string {
  return plain(platform).split('_').slice(0, 2).join('_');
}

/** `xilinx_u250_xdma_2018_2` for `xilinx:u250:xdma:2018.2`, as in XRT's firmware_image.cpp. */
function shownByCard(platform: string): string {
  return platform.replaceAll(/[:.]/g, '_');
}

function plain(platform: string): string {
  return platform.replaceAll(/[^A-Za-z0-9]/g, '_').toLowerCase();
}

function toVersion(platform: string): string {
  return platform.replaceAll(' ', '_');
}

/** xbmgmt asks whether it may go on for a file of another name. */
async function withSuffix(
  { context: { directory }, card }: Work,
  { imagePath }: ComponentImage,
  act: (path: string) => Promise<void>,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${card.management.address}.xsabin`);
  try {
    await copyFile(imagePath, path);
    await act(path);
  } finally {
    await rm(path, { force: true });
  }
}
