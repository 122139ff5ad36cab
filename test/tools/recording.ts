// What versions of a program have printed, as text: `== case`, `$ arguments`, then its output in
// lines that begin with `>`, its errors with `!`, and `= exit code` unless that is 0. A version
// has only the cases in which it differs from the one that its line `# As` names.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '#agent/hardware/port.ts';

export interface RecordedRun extends Answer {
  readonly args: readonly string[];
}

export interface RecordedCase {
  readonly name: string;
  readonly runs: readonly RecordedRun[];
}

export interface Recording {
  /** Program, licence, source and date. */
  readonly head: readonly string[];
  readonly cases: readonly RecordedCase[];
}

/** The recordings of a program by version, the oldest first; each has its base's cases, too. */
export function readRecordings(program: string): ReadonlyMap<string, Recording> {
  const folder = join(import.meta.dirname, program);
  const versions = readdirSync(folder).map((file) => file.replace(/\.txt$/, ''));
  const byVersion = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });
  const read = (version: string): Recording => {
    const recording = parseRecording(readFileSync(join(folder, `${version}.txt`), 'utf8'));
    const [, base] = /^As (\S+)\.$/m.exec(recording.head.join('\n')) ?? [];
    const others = base === undefined ? [] : read(base).cases;
    const own = new Map(recording.cases.map((each) => [each.name, each]));
    const cases = others.map((each) => own.get(each.name) ?? each);
    const names = new Set(cases.map(({ name }) => name));
    return {
      ...recording,
      cases: [...cases, ...recording.cases.filter((c) => !names.has(c.name))],
    };
  };
  return new Map(versions.sort(byVersion).map((version) => [version, read(version)]));
}

/** @param base version and cases of another recording; the cases that are alike are left out */
export function printRecording(
  { head, cases }: Recording,
  base?: readonly [version: string, Recording],
): string {
  const [version, { cases: others = [] } = {}] = base ?? [];
  const alike = new Set(others.map(printCase));
  const different = cases.map(printCase).filter((each) => !alike.has(each));
  const lines = base === undefined ? head : [...head, `As ${version}.`];
  return [...lines.map((line) => `# ${line}`), ...different, ''].join('\n');
}

function printCase({ name, runs }: RecordedCase): string {
  return ['', `== ${name}`, ...runs.flatMap(printRun)].join('\n');
}

function printRun({ args, stdout, stderr, exitCode }: RecordedRun): string[] {
  return [
    `$ ${args.join(' ')}`,
    ...linesOf(stdout).map((line) => `>${line}`),
    ...linesOf(stderr).map((line) => `!${line}`),
    ...(exitCode === 0 ? [] : [`= ${exitCode}`]),
  ];
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

export function parseRecording(text: string): Recording {
  const head: string[] = [];
  const cases: { name: string; runs: RecordedRun[] }[] = [];
  for (const line of text.split('\n')) {
    const [sign = '', rest] = [line[0], line.slice(1)];
    const runs = cases.at(-1)?.runs ?? [];
    const run = runs.at(-1);
    if (line.startsWith('== ')) cases.push({ name: line.slice(3), runs: [] });
    else if (sign === '#') head.push(rest.trim());
    else if (sign === '$') {
      runs.push({ args: rest.trim().split(' '), stdout: '', stderr: '', exitCode: 0 });
    } else if (run && sign !== '') {
      runs[runs.length - 1] = {
        ...run,
        ...(sign === '>' && { stdout: `${run.stdout}${rest}\n` }),
        ...(sign === '!' && { stderr: `${run.stderr}${rest}\n` }),
        ...(sign === '=' && { exitCode: Number(rest) }),
      };
    }
  }
  return { head, cases };
}
