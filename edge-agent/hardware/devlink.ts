// The kernel's devlink, by the program `devlink` of iproute2: what firmware a network card runs
// and stores, and how its flash is written (Linux, Documentation/networking/devlink).
//
// INVARIANTS
// - The kernel reads an image by its name below a folder of its own list. That list gets the
//   folder of the agent's images, each named by its digest, while devlink writes one, and is as
//   before afterwards. A list that another program has set is never replaced.

import { basename, dirname } from 'node:path';
import * as z from 'zod';
import { createDeviceLocks } from '#agent/device-locks.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { HardwareError } from './errno.ts';
import type { Hardware } from './port.ts';

/** The first and the last release that was recorded in test/tools/iproute2/. */
export const iproute2Releases = { first: '5.15.0', last: '7.1.0' } as const;

const askMs = 10_000;
/** Cards of some vendors take a quarter of an hour. */
const flashMs = 45 * 60_000;
/** The card starts its firmware anew. */
const reloadMs = 5 * 60_000;

/** A folder in which the kernel looks for firmware before all others; empty for none. */
const folderParameter = 'module/firmware_class/parameters/path';
const locks = createDeviceLocks();

const versions = z.record(z.string(), z.string());
const info = z.object({
  versions: z.object({ running: versions, stored: versions }).partial().optional(),
});
const shown = z.object({
  reload_failed: z.boolean().default(false),
  stats: z.object({ reload: z.record(z.string(), z.unknown()) }),
});

/** Names are those of devlink, such as `fw.mgmt`. */
export interface FirmwareVersions {
  readonly running: Readonly<Record<string, string>>;
  /** What runs after the next start of the card; empty if its driver does not show it. */
  readonly stored: Readonly<Record<string, string>>;
}

export interface DevlinkCard {
  readonly hardware: Hardware;
  /** PCI address of the physical function. */
  readonly address: string;
}

/** @throws HardwareError with what devlink says, such as of a card on a VFIO driver */
export async function readFirmwareVersions(card: DevlinkCard): Promise<FirmwareVersions> {
  const text = await run(card, askMs, ['-j', 'dev', 'info', handle(card)]);
  const { data } = info.safeParse(entryOf(text, 'info', card));
  if (!data) throw new HardwareError('EINVAL', 'devlink dev info printed what is not valid for it');
  const { running = {}, stored = {} } = data.versions ?? {};
  return { running: plain(running), stored: plain(stored) };
}

interface Reload {
  /** Whether the card's driver can have it run what is stored, without a power cycle. */
  readonly isOffered: boolean;
  /** The card has not come back from the last one. */
  readonly hasFailed: boolean;
}

export async function readReload(card: DevlinkCard): Promise<Reload> {
  const text = await run(card, askMs, ['-j', '-s', 'dev', 'show', handle(card)]);
  const { data } = shown.safeParse(entryOf(text, 'dev', card));
  if (!data) throw new HardwareError('EINVAL', 'devlink dev show printed what is not valid for it');
  // The kernel counts the reloads of each action that the driver has.
  const isOffered = Object.hasOwn(data.stats.reload, 'fw_activate');
  return { isOffered, hasFailed: data.reload_failed };
}

/**
 * Resolves when the card has stored the image.
 *
 * @param component of the card's flash; undefined for all of it
 */
export async function flashFirmware(
  card: DevlinkCard,
  imagePath: string,
  component: string | undefined,
): Promise<void> {
  const part = component === undefined ? [] : ['component', component];
  await locks.hold([folderParameter], () =>
    withFirmwareFolder(card, imagePath, async () => {
      const file = ['file', basename(imagePath)];
      await run(card, flashMs, ['dev', 'flash', handle(card), ...file, ...part]);
    }),
  );
}

export async function reloadFirmware(card: DevlinkCard): Promise<void> {
  await run(card, reloadMs, ['dev', 'reload', handle(card), 'action', 'fw_activate']);
}

/** @throws HardwareError while something else has set where the kernel looks for firmware */
export async function checkFirmwareFolder(
  { hardware, address }: DevlinkCard,
  imagePath: string,
): Promise<void> {
  const before = await hardware.readText(address, folderParameter);
  // An agent that died has left its own.
  if (before === '' || before === dirname(imagePath)) return;
  const where = before.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 80);
  throw new HardwareError('EBUSY', `firmware_class.path of the kernel is set, to ${where}`);
}

async function withFirmwareFolder(
  card: DevlinkCard,
  imagePath: string,
  act: () => Promise<void>,
): Promise<void> {
  const { hardware, address } = card;
  await checkFirmwareFolder(card, imagePath);
  await hardware.writeText(address, folderParameter, dirname(imagePath));
  try {
    await act();
  } finally {
    // The kernel takes no text of no bytes: this one ends before its first character.
    await hardware.writeText(address, folderParameter, '\0');
  }
}

function handle({ address }: DevlinkCard): string {
  return `pci/${address}`;
}

async function run(
  { hardware, address }: DevlinkCard,
  limitMs: number,
  args: readonly string[],
): Promise<string> {
  const { exitCode, stdout, stderr } = await hardware.exec(address, 'devlink', args, limitMs);
  if (exitCode === 0) return stdout;
  const verb = args.filter((each) => !each.startsWith('-'))[1];
  // The driver's own words come first.
  const [line = ''] = stderr.trim().split('\n');
  const said = line.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 160);
  throw new HardwareError('EIO', `devlink dev ${verb} failed: ${said || `exit code ${exitCode}`}`);
}

/** Pure. What devlink prints of the card below a key. */
function entryOf(text: string, key: string, card: DevlinkCard): unknown {
  const all = z.record(z.string(), z.record(z.string(), z.unknown())).safeParse(parseJson(text));
  return all.data?.[key]?.[handle(card)];
}

/** Pure. Without what is no version; blanks are not part of one. */
function plain(all: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(all).map(
    ([name, version]) => [name, version.trim().replaceAll(' ', '_')] as const,
  );
  return Object.fromEntries(named.filter(([, version]) => /^[\x21-\x7e]{1,64}$/.test(version)));
}
