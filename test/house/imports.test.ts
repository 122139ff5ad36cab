// Imports of values make no circle: a module of a circle may run before what it needs.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const files = new Set(
  execFileSync('git', ['ls-files', '*.ts', '*.tsx'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file))),
);
const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** The file of this project that the import names. */
function fileOf(from: string, specifier: string): string | undefined {
  const [alias, folder] = Object.entries(imports).find(([name]) =>
    specifier.startsWith(name.replace('*', '')),
  ) ?? ['', ''];
  const path = specifier.startsWith('.')
    ? join(dirname(from), specifier)
    : join(folder.replace('*', ''), specifier.slice(alias.length - 1));
  return files.has(path) ? path : undefined;
}

/** The clause of an import, as the formatter writes it, and the name of what is imported. */
const statement = /^(?:import|export) (?!type )([^'"]*?) from '([^']+)';$/gms;
const onlyTypes = /^\{(?:\s*type \w+(?: as \w+)?,?)+\s*\}$/;

function valuesImportedBy(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)].flatMap(([, clause = '', specifier = '']) => {
    const imported = onlyTypes.test(clause) ? undefined : fileOf(file, specifier);
    return imported === undefined ? [] : [imported];
  });
}

it('make no circle of values', () => {
  const left = new Map([...files].map((file) => [file, valuesImportedBy(file)]));
  // Files whose imports are all known to lead to no circle go, until the circles are left.
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const [file, imported] of left) {
      if (!imported.some((each) => left.has(each))) left.delete(file);
    }
  }
  expect([...left.keys()]).toEqual([]);
});
