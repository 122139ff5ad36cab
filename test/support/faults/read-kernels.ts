// Makes `kernel-messages.jsonl` from sources of Linux and of NVIDIA's open drivers, of which it
// keeps the formats alone:
//
//   node test/support/faults/read-kernels.ts FOLDER
//
// The folder has a tree of the kernel for each release, under its number: `6.12/drivers/pci/...`.
// The trees need these folders only: block, drivers/{accel,crypto,firmware,gpu,misc,net,nvme,pci}.
// `4.18.el8` is a kernel of RHEL 8, which has drivers of later releases, and `R580` a branch of
// NVIDIA's drivers.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MessageSource, messageSources } from './kernel-sources.ts';
import { type KernelString, readPrefix, readStrings } from './kernel-strings.ts';

/** The format of a message in some releases. */
export interface KernelMessage {
  readonly row: string;
  readonly step?: number;
  readonly file: string;
  readonly function: string;
  readonly call: string;
  /** What the file puts before each message. */
  readonly prefix: string;
  readonly format: string;
  readonly values: readonly string[];
  readonly releases: readonly string[];
}

const messagesFile = 'test/support/faults/kernel-messages.jsonl';

export function readMessages(): KernelMessage[] {
  const lines = readFileSync(messagesFile, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as KernelMessage);
}

const numbers = (release: string) => release.replace('R', '').split('.').map(Number);
/** Below zero if the first release is older. */
export function compareReleases(one: string, other: string): number {
  const [a, b] = [numbers(one), numbers(other)];
  return (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0);
}

type Message = Omit<KernelMessage, 'releases'>;

/** A message without a device is of none: drivers wrote some so. In a table nothing is printed. */
function namesDevice({ call, text }: KernelString): boolean {
  if (call === 'pr_err') return text.includes('Device %s');
  return call !== '' && !call.startsWith('DRM_');
}

function messagesIn(file: string, source: string): Message[] {
  const sources = messageSources.filter(({ files }) => files.test(file));
  const strings = readStrings(source);
  return sources.flatMap((each) =>
    strings
      .filter((string) => namesDevice(string) && each.text.test(string.text))
      .filter(({ call }) => (each.call ?? call) === call)
      .flatMap((string) => toMessage(each, string, strings, file, source) ?? []),
  );
}

function toMessage(
  { row, step, values }: MessageSource,
  { function: name, call, text: format }: KernelString,
  strings: readonly KernelString[],
  file: string,
  source: string,
): Message | undefined {
  const texts = values.map((value) =>
    typeof value === 'string' ? value : strings.find(({ text }) => value.test(text))?.text,
  );
  if (texts.includes(undefined)) return undefined;
  const prefix = readPrefix(source, call);
  const own = { row, ...(step !== undefined && { step }), file, function: name, call, prefix };
  return { ...own, format, values: texts as string[] };
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile() && /\.[ch]$/.test(each.name));
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

function readKernels(folder: string): KernelMessage[] {
  const releases = new Map<string, string[]>();
  for (const release of readdirSync(folder).sort(compareReleases)) {
    const tree = join(folder, release);
    const files = filesBelow(tree).filter((file) =>
      messageSources.some((source) => source.files.test(file)),
    );
    for (const file of files.sort()) {
      for (const message of messagesIn(file, readFileSync(join(tree, file), 'utf8'))) {
        const key = JSON.stringify(message);
        const before = releases.get(key) ?? [];
        if (before.at(-1) !== release) releases.set(key, [...before, release]);
      }
    }
  }
  const order = (message: Message) => messageSources.findIndex(({ row }) => row === message.row);
  return [...releases]
    .map(([key, all]) => ({ ...(JSON.parse(key) as Message), releases: all }))
    .sort((a, b) => order(a) - order(b) || (a.step ?? 0) - (b.step ?? 0));
}

if (process.argv[1]?.endsWith('read-kernels.ts')) {
  const [, , folder = ''] = process.argv;
  const lines = readKernels(folder).map((message) => JSON.stringify(message));
  writeFileSync(messagesFile, `${lines.join('\n')}\n`);
  console.log(`${lines.length} formats in ${messagesFile}`);
}
