// What is done to an Alveo card while no guest has it: its functions go to XRT's drivers, which
// program and reset it, and back to the VFIO driver.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { bindFunction } from '#agent/drivers/pci/setup.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { plainUuid, readXclbin, shownUuid, type Xclbin } from '#agent/images/xclbin.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { type Card, type CardFacts, interfacesFrom, type KnownCards } from './cards.ts';
import type { XilinxSettings } from './settings.ts';
import { load, readPlatform, reset, type ToolDeps } from './tools.ts';

export interface Work {
  readonly settings: XilinxSettings;
  readonly context: DriverContext;
  readonly records: KnownCards;
  readonly card: Card;
  /** Addresses of functions that are worked at: they stay offered. */
  readonly busy: Set<string>;
}

/** The drivers start the card's own controllers, and its memory is calibrated. */
const readyMs = 60_000;
const pollMs = 500;
/** The uuid appears with the end of the program; the reset of a card takes some ten seconds. */
const shownMs = 10_000;

export function cardFunctions({ management, user }: Card): readonly PciFunction[] {
  return [management, user];
}

/** Both functions on XRT's drivers; then both on the VFIO driver, also after a failure. */
export async function onItsDrivers<T>(work: Work, act: () => Promise<T>): Promise<T> {
  const { card, busy, context, settings } = work;
  const { management, user } = card;
  for (const fn of cardFunctions(card)) busy.add(fn.address);
  try {
    let result: T;
    try {
      await checked(work);
      await bindFunction(context, management.address, 'xclmgmt');
      await bindFunction(context, user.address, 'xocl');
      await untilReady(work);
      // A service of the host may have opened the card.
      await checked(work);
      result = await act();
    } catch (error) {
      for (const { address } of cardFunctions(card)) {
        // The error is the first one.
        await bindFunction(context, address, settings.bind_to).catch((second: unknown) => {
          context.log.warn('Alveo card left on its drivers', { address, error: String(second) });
        });
      }
      throw error;
    }
    for (const { address } of cardFunctions(card)) {
      await bindFunction(context, address, settings.bind_to);
    }
    return result;
  } finally {
    for (const fn of cardFunctions(card)) busy.delete(fn.address);
  }
}

/** @throws a sentence if a function is gone, another one, or in use */
async function checked({ card, context }: Work): Promise<void> {
  const { sysfs, guards } = context;
  for (const fn of cardFunctions(card)) {
    const now = readPciFunctionAt(sysfs, fn.address);
    if (now?.productId !== fn.productId) throw new Error(`${fn.address} is no longer there.`);
  }
  const [held] = await guards.heldBy(cardFunctions(card), true);
  if (held) throw new Error(`The device at ${held[0]} ${held[1]}.`);
}

export async function untilReady({ card, context }: Work): Promise<void> {
  const { management, user } = card;
  const read = (fn: PciFunction, name: string) =>
    context.hardware.readText(management.address, `${fn.path}/${name}`);
  await until(context, readyMs, 'The card is not ready.', async () => {
    const states = [await read(management, 'ready'), await read(user, 'ready')];
    return states.every((state) => /^(0x)?1$/.test(state));
  });
  const faults = [
    ['dev_offline', 'is offline'],
    ['device_bad_state', 'has a kernel that hangs'],
  ] as const;
  for (const [name, fault] of faults) {
    const state = await read(user, name).catch((error: unknown) => {
      // An older xocl has no such file; a file that cannot be read may hide the fault.
      if (error instanceof HardwareError && error.code === 'ENOENT') return '0';
      throw error;
    });
    if (state === '0') continue;
    const shown = state === '1' ? fault : `has an unknown ${name}`;
    throw new Error(`The card ${management.address} ${shown}.`);
  }
}

/** Files of a driver appear and fail for a while after it was bound. */
async function until(
  { clock }: DriverContext,
  limitMs: number,
  otherwise: string,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const end = clock.monotonicMs() + limitMs;
  for (;;) {
    if (await isDone().catch(() => false)) return;
    if (clock.monotonicMs() > end) throw new Error(otherwise);
    await clock.sleep(pollMs);
  }
}

export function chooseTools({ context, settings, card }: Work): ToolDeps {
  return { hardware: context.hardware, device: card.management.address, settings };
}

/** Reads what the card is, before it is on the VFIO driver. */
export async function learn(work: Work): Promise<void> {
  await onItsDrivers(work, () => readCard(work));
}

/** While the card is on XRT's drivers. */
export async function readCard(work: Work): Promise<void> {
  const { context, card, records } = work;
  const interfaces = await interfacesNow(work);
  const platform = await readPlatform(chooseTools(work), context.directory);
  const before = await records.get(card);
  // A boot that was no cold one has changed nothing: the next boot may.
  const isSame = before?.flashed !== undefined && before.base === platform.base;
  await records.keep(card, {
    ...platform,
    platforms: [...platform.platforms],
    interfaces,
    ...(isSame && { flashed: context.bootId }),
  });
}

async function interfacesNow({ context, card }: Work): Promise<string[]> {
  const { address, path } = card.management;
  const text = await context.hardware.readText(address, `${path}/interface_uuids`);
  const interfaces = interfacesFrom(text);
  if (!interfaces) throw new Error(`The card ${address} shows no interface of its shell.`);
  return interfaces;
}

/** Before anything is written. @throws ImageRefused */
function checkForCard(image: Xclbin, { interfaces, platforms }: CardFacts): void {
  const missing = image.interfaces.find((each) => !interfaces.includes(each));
  if (missing !== undefined) {
    throw new ImageRefused(`The image needs interface ${missing}, which the card does not have.`);
  }
  const plain = (platform: string) => platform.replaceAll(/[^A-Za-z0-9]/g, '_').toLowerCase();
  if (!platforms.some((each) => plain(each) === plain(image.platform))) {
    const platform = platforms.at(-1);
    throw new ImageRefused(
      `The image is for platform ${image.platform}, the card has ${platform}.`,
    );
  }
}

export async function program(
  work: Work,
  facts: CardFacts,
  { imagePath, imageId }: { readonly imagePath: string; readonly imageId: string },
  onProgress: (percent: number) => void,
): Promise<void> {
  const image = await readXclbin(imagePath);
  checkForCard(image, facts);
  await onItsDrivers(work, async () => {
    await sameShell(work, facts);
    await work.records.forgetContent(work.card);
    onProgress(10);
    await loaded(work, image.uuid, imagePath);
    onProgress(90);
    const content = { boot_id: work.context.bootId, function: image.uuid, image: imageId };
    await work.records.keep(work.card, { ...facts, content });
  });
  onProgress(100);
}

/** Another shell may have been flashed since the card was read. */
async function sameShell(work: Work, facts: CardFacts): Promise<void> {
  const now = await interfacesNow(work);
  if (now.join() === facts.interfaces.join()) return;
  throw new Error(`The card ${work.card.management.address} has another shell than before.`);
}

/** Loads an image, and reads what the card then says that it has. */
async function loaded(work: Work, uuid: string, imagePath: string): Promise<void> {
  const { context, card } = work;
  const { address, path } = card.user;
  await load(chooseTools(work), address, imagePath);
  const otherwise = `The card ${card.management.address} does not show ${uuid} after the program.`;
  await until(context, shownMs, otherwise, async () =>
    (await idsAt(work, path)).includes(plainUuid(uuid)),
  );
}

/** One line for each slot that is loaded; `(null)` or zeros for none (XRT, xocl_sysfs.c). */
async function idsAt({ context, card }: Work, path: string): Promise<string[]> {
  const text = await context.hardware.readText(card.management.address, `${path}/xclbinuuid`);
  const ids = text.split('\n').map((line) => plainUuid(line.trim()));
  const state = ids.filter((id) => !/^(\(null\)|0*)$/.test(id));
  if (state.some((id) => !/^[0-9a-f]{32}$/.test(id))) {
    throw new Error(`The card ${card.management.address}: xclbinuuid is not a list of uuids.`);
  }
  return state;
}

/** The image of a holder in another slot would be left to the next one. */
async function onlyShows(work: Work, uuid: string): Promise<void> {
  const { management, user } = work.card;
  const other = (await idsAt(work, user.path)).find((id) => id !== plainUuid(uuid));
  if (other === undefined) return;
  throw new Error(`The card ${management.address} still shows ${shownUuid(other)}.`);
}

/** Why the card could not be cleaned after a guest, as a clause. */
export async function cleanRefusal(
  { settings, context }: Pick<Work, 'settings' | 'context'>,
  facts: CardFacts,
  blank: string | undefined,
): Promise<string | undefined> {
  const { xbutil } = settings;
  if (!context.hardware.isInstalled(xbutil)) return `cannot be reset: ${xbutil} is not installed`;
  if (blank === undefined) return undefined;
  try {
    checkForCard(await readXclbin(blank), facts);
    return undefined;
  } catch (error) {
    return `cannot be blanked after a guest: ${blank}: ${reasonOf(error)}`.slice(0, 255);
  }
}

/** Resets the card; then loads the blank image, if the settings name one. */
export async function clean(
  work: Work,
  facts: CardFacts,
  blank: string | undefined,
  onProgress: (percent: number) => void,
): Promise<Evidence> {
  const image = blank === undefined ? undefined : await readXclbin(blank);
  if (image) checkForCard(image, facts);
  // Also where the rest fails: a holder has had the card.
  await work.records.forgetContent(work.card);
  return await onItsDrivers(work, async () => {
    await sameShell(work, facts);
    onProgress(10);
    await reset(chooseTools(work), work.card.user.address);
    await untilReady(work);
    await sameShell(work, facts);
    onProgress(60);
    if (image && blank !== undefined) {
      await loaded(work, image.uuid, blank);
      await onlyShows(work, image.uuid);
      return {
        cleaned_by: 'reset and blank image',
        xclbin_uuid: image.uuid,
        shell_unchanged: true,
      };
    }
    const left = (await idsAt(work, work.card.user.path)).join(' ').slice(0, 255);
    return { cleaned_by: 'reset', xclbin_left: left || 'none', shell_unchanged: true };
  });
}
