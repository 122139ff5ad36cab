// XRT's tools for Alveo cards: what they are asked, and what is believed of their answers. Written
// from the sources of XRT 2.12 to 2.25 (core/tools), between which this does not differ, and
// compared with no card.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Observation } from '#agent/drivers/contract/driver.ts';
import { examineToolVersion } from '#agent/drivers/contract/tool-version.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { validFact } from './cards.ts';
import type { XilinxSettings } from './settings.ts';

export interface ToolDeps {
  readonly hardware: Hardware;
  /** The management function's address: the card does one operation at a time. */
  readonly device: string;
  readonly settings: Pick<XilinxSettings, 'xbutil' | 'xbmgmt' | 'tool_seconds'>;
}

/** The first and the last release whose source was read. */
const xrtReleases = { first: '2.12', last: '2.25' } as const;

/** Never rejects. */
export async function examineXrt(
  { xbutil, xbmgmt }: XilinxSettings,
  hardware: Hardware,
): Promise<readonly Observation[]> {
  const examine = (name: string, program: string) =>
    examineToolVersion(hardware, { name, program, args: ['--version'], releases: xrtReleases });
  return await Promise.all([examine('xbutil of XRT', xbutil), examine('xbmgmt of XRT', xbmgmt)]);
}

/** @throws a sentence with what the tool has said */
async function run(
  { hardware, device, settings }: ToolDeps,
  tool: 'xbutil' | 'xbmgmt',
  args: readonly string[],
  limitMs = settings.tool_seconds * 1000,
): Promise<string> {
  const answer = await hardware.exec(device, settings[tool], args, limitMs);
  const said = `${answer.stderr}\n${answer.stdout}`;
  if (answer.exitCode === 0) return answer.stdout;
  throw new Error(
    `${tool} ${args[0]} failed with exit code ${answer.exitCode}: ${firstLine(said)}`,
  );
}

/** The line with the error, printable and short. */
function firstLine(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((each) => each.includes('ERROR')) ?? lines[0] ?? 'no message';
  return line
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .trim()
    .slice(0, 160);
}

/** The xclbin of one user; never a shell. */
export async function load(deps: ToolDeps, user: string, imagePath: string): Promise<void> {
  await run(deps, 'xbutil', ['program', '--device', user, '--user', imagePath]);
}

/** A card's flash is erased and written at some 100 KiB a second. */
const flashMs = 45 * 60_000;

/** Writes the card's flash; a cold reboot has the card run it (OO_UpdateBase.cpp). */
export async function flashBase(deps: ToolDeps, imagePath: string): Promise<void> {
  const args = ['program', '--device', deps.device, '--base', '--image', imagePath, '--force'];
  const stdout = await run(deps, 'xbmgmt', args, flashMs);
  // It ends with 0 also if it finds nothing to flash.
  if (!stdout.includes('Device flashed successfully')) {
    throw new Error(`xbmgmt program has not confirmed the flash: ${firstLine(stdout)}`);
  }
}

/** Loads the upper part of a shell of two stages, until the next boot (OO_UpdateShell.cpp). */
export async function loadShell(deps: ToolDeps, imagePath: string): Promise<void> {
  const args = ['program', '--device', deps.device, '--shell', imagePath];
  const stdout = await run(deps, 'xbmgmt', args, flashMs);
  if (!stdout.includes('Programmed shell successfully')) {
    throw new Error(`xbmgmt program has not confirmed the shell: ${firstLine(stdout)}`);
  }
}

/** xbutil ends with 0 also if the reset has failed, and then says so (SubCmdReset.cpp). */
export async function reset(deps: ToolDeps, user: string): Promise<void> {
  const stdout = await run(deps, 'xbutil', ['reset', '--device', user, '--force']);
  if (!stdout.includes(`Successfully reset Device[${user}]`)) {
    throw new Error(`xbutil reset has not confirmed the reset: ${firstLine(stdout)}`);
  }
}

/** xbmgmt2/ReportPlatform.cpp; `N/A` for what the card does not report. */
const report = z.object({
  devices: z.tuple([
    z.object({
      platform: z.object({
        bdf: z.string(),
        hardware: z.object({ serial_num: z.string() }).optional(),
        device_properties: z.object({ board_name: z.string() }).optional(),
        current_shell: z.object({ vbnv: z.string(), sc_version: z.string().optional() }).optional(),
        current_partitions: z
          .array(z.object({ vbnv: z.string() }))
          .max(8)
          .or(z.literal(''))
          .optional(),
      }),
    }),
  ]),
});

interface PlatformFacts {
  readonly serial?: string;
  readonly board?: string;
  readonly platforms: readonly string[];
  readonly base?: string;
  readonly firmware?: string;
}

const reportName = 'platform.json';
const reportBytesMax = 256 * 1024;

/** The tool writes JSON to files only. @throws a sentence for what is not a report of the card */
export async function readPlatform(deps: ToolDeps, directory: string): Promise<PlatformFacts> {
  // Makes the folder; a report of an earlier run must not be taken for this one's.
  await openStateFiles(directory).replace(reportName, '');
  const file = join(directory, reportName);
  try {
    const args = ['--device', deps.device, '--report', 'platform', '--format', 'JSON'];
    await run(deps, 'xbmgmt', ['examine', ...args, '--output', file, '--force']);
    return parseFacts((await readFile(file, 'utf8')).slice(0, reportBytesMax), deps.device);
  } finally {
    await rm(file, { force: true });
  }
}

/** Pure. */
export function parseFacts(text: string, device: string): PlatformFacts {
  const json = parseJson(text);
  if (json === undefined) throw new Error('xbmgmt examine has written what is not valid JSON');
  const { success, data } = report.safeParse(json);
  if (!success) throw new Error('xbmgmt examine has written another report than of one platform');
  const { bdf, hardware, device_properties: board, ...partitions } = data.devices[0].platform;
  const { current_shell: shell, current_partitions: others } = partitions;
  if (bdf.toLowerCase() !== device) {
    throw new Error(`xbmgmt examine has answered for another card than ${device}`);
  }
  const valid = (value: string | undefined, max?: number) =>
    value === 'N/A' ? undefined : validFact(value, max);
  const [serial, name] = [valid(hardware?.serial_num), valid(board?.board_name)];
  const firmware = valid(shell?.sc_version);
  // An empty list is an empty text in JSON of boost.
  const named = [shell, ...(others === '' ? [] : (others ?? []))];
  const base = valid(shell?.vbnv, 63);
  const platforms = named.flatMap((each) => valid(each?.vbnv, 63) ?? []);
  if (platforms.length === 0) throw new Error('xbmgmt examine names no platform of the card');
  return {
    ...(serial && { serial: serial.replaceAll(' ', '_') }),
    ...(name && { board: name }),
    platforms,
    ...(base && { base }),
    ...(firmware && { firmware }),
  };
}
