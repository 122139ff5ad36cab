// The tasks of docs/tasks.md with their commands, and what the page says that they print.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Command {
  readonly line: string;
  readonly exitCode: number;
  readonly printed: string;
  /** The place in its task, from 0. */
  readonly at: number;
}

export interface Task {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Variables of a shell, by which the page names what differs from run to run. */
export type Names = Readonly<Record<string, string>>;

const page = new URL('../../docs/tasks.md', import.meta.url);
const block = /^```(\w*)\n(.*?)^```$/gms;

/** @throws Error for a block that is not one command, or what the command before it prints */
export function readTasks(): Task[] {
  const [opening = '', ...chapters] = readFileSync(page, 'utf8').split(/^## /m);
  if (commandsOf(opening).length > 0) throw new Error('docs/tasks.md has a command of no task.');
  return chapters.map((chapter) => ({
    title: chapter.split('\n')[0] ?? '',
    commands: commandsOf(chapter),
  }));
}

function commandsOf(chapter: string): Command[] {
  const blocks = [...chapter.matchAll(block)].map(([, kind, text = '']) => ({ kind, text }));
  return blocks.flatMap(({ kind, text }, index) => {
    if (kind !== (index % 2 === 0 ? 'sh' : 'text') || (kind === 'sh' && !blocks[index + 1])) {
      throw new Error(`docs/tasks.md must have sh and text in turn, and has ${kind}: ${text}`);
    }
    if (kind === 'text') return [];
    if (text.trim().includes('\n')) throw new Error(`Not one command: ${text}`);
    const [line = '', exitCode = '0'] = text.trim().split(/ +# exit code /);
    const printed = blocks[index + 1]?.text ?? '';
    return [{ line, exitCode: Number(exitCode), printed, at: index / 2 }];
  });
}

/** The words of the line, as a shell reads it. */
export function wordsOf(line: string, names: Names): string[] {
  const script = `set -u; cyborg-ops() { printf '%s\\0' cyborg-ops "$@"; }; ${line}`;
  const options = { env: { PATH: '', ...names }, encoding: 'utf8' } as const;
  return execFileSync('/bin/bash', ['-c', script], options).split('\0').slice(0, -1);
}

/** The text with names for what they stand for, one space for many, and no request's id. */
export function namesIn(text: string, names: Names): string[] {
  const named = Object.entries(names).reduce(
    (left, [name, value]) => left.replaceAll(value, `$${name}`),
    text.replaceAll(/req-[0-9a-f-]{36}/g, 'req-...'),
  );
  return named
    .trim()
    .split('\n')
    .map((line) => line.trim().replaceAll(/ +/g, ' '));
}
