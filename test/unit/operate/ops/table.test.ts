// The table of verbs is complete, its examples are true, and so are those of the documents.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentVersion } from '#agent/version.ts';
import { makeHelp } from '#operate/ops/arguments/help.ts';
import { optionsOf, parse } from '#operate/ops/arguments/parse.ts';
import { table } from '#operate/ops/table.ts';
import type { Verb } from '#operate/ops/verb.ts';
import { wordsOf } from './command-lines.ts';

const root = join(import.meta.dirname, '../../../..');
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const nameOf = ({ path }: Verb) => path.join(' ');
const now = Date.parse('2026-11-23T00:00:00Z');

/** The verb that a line calls. @throws if the line is wrong */
function called(line: string): string {
  const [program, ...words] = wordsOf(line);
  expect(program).toBe('cyborg-ops');
  const parsed = parse(words, table, now);
  if (parsed.kind === 'help' || parsed.kind === 'version') return parsed.kind;
  return nameOf(parsed.verb);
}

describe('each verb', () => {
  it.each(table.map((verb) => [nameOf(verb), verb] as const))(
    '%s has a true example',
    (name, verb) => {
      expect(called(verb.example)).toBe(name);
    },
  );

  it.each(table.map((verb) => [nameOf(verb), verb] as const))(
    '%s has help with its options and its example',
    (_name, verb) => {
      const help = makeHelp(
        verb.path.filter((each) => each !== undefined),
        table,
      );
      expect(help).toContain(verb.example);
      for (const option of Object.keys(optionsOf(verb))) expect(help).toContain(`--${option}`);
    },
  );

  it('has a name of its own', () => {
    const names = table.map(nameOf);
    expect(names).toEqual([...new Set(names)]);
    expect(names.length).toBeGreaterThan(25);
  });

  it('gives an option of one name the same type as the others', () => {
    const types = new Map<string, Set<string>>();
    for (const verb of table) {
      for (const [name, { type }] of Object.entries(optionsOf(verb))) {
        types.set(name, (types.get(name) ?? new Set()).add(type));
      }
    }
    expect([...types].filter(([, each]) => each.size > 1)).toEqual([]);
  });
});

describe('the rows of stack commands', () => {
  const files: Readonly<Record<string, readonly string[]>> = {
    enrol: ['enrol'],
    reconcile: ['reconcile'],
    doctor: ['doctor'],
    restore: ['restore'],
    profiles: ['profiles'],
    import: ['import', 'import-nova-pci'],
    export: ['export'],
  };

  it.each(Object.keys(files))('%s has the options that the command itself reads', (name) => {
    const text = files[name]?.map((file) => textOf(`operate/commands/${file}.ts`)).join('') ?? '';
    const reads = [...text.matchAll(/input\.(?:text|has|all|required)\('([\w-]+)'\)/g)];
    const rows = table.filter((verb) => verb.path[0] === name && 'load' in verb);
    const listed = new Set(rows.flatMap(({ options }) => Object.keys(options ?? {})));
    // run.ts reads it for all commands.
    const read = new Set(reads.flatMap(([, option = '']) => option)).add('environment');
    expect([...read].sort()).toEqual([...listed.add('environment')].sort());
  });
});

describe('the help of the whole command', () => {
  const help = makeHelp([], table);

  it('names each command, and fits a terminal of 100 columns', () => {
    for (const { path } of table) expect(help).toContain(`\n  ${path[0]} `);
    expect(Math.max(...help.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100);
  });

  it('has the exit codes', () => {
    for (const code of ['0 done', '1 failed', '2 wrong', '3 not signed in', '4 a service']) {
      expect(help).toContain(code);
    }
  });
});

describe('the documents', () => {
  const documents = [
    'README.md',
    ...readdirSync(join(root, 'docs'), { recursive: true }).map((file) => `docs/${file}`),
  ];
  const lines = documents
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => {
      const blocks = [...textOf(file).matchAll(/^( *)```sh.*\n([\s\S]*?)^\1```$/gm)];
      return blocks
        .flatMap(([, , block = '']) => block.split('\n'))
        .map((line) =>
          line
            .trim()
            .replace(/^npx --package \S+ /, '')
            .replace(/^source <\((.*)\)$/, '$1'),
        )
        .filter((line) => line.startsWith('cyborg-ops '))
        .map((line) => [file, line.replace(/ +(#|\||>).*$/, '')] as const);
    });

  it.each(lines)('%s: %s', (_file, line) => {
    expect(called(line)).not.toBe('');
  });

  it('have an example of each verb in docs/cyborg-ops.md', () => {
    const shown = lines
      .filter(([file]) => file === 'docs/cyborg-ops.md')
      .map(([, line]) => called(line));
    expect(table.map(nameOf).filter((name) => !shown.includes(name))).toEqual([]);
  });
});

it('has the version of package.json', () => {
  expect(agentVersion).toBe(JSON.parse(textOf('package.json')).version);
});
