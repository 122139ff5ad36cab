// The fixtures of all own drivers: each folder here has its `fixture.ts`, or several.

import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DriverFixture } from './fixture.ts';

export interface NamedFixture {
  /** `mdev`, or for another fixture of the same driver `mdev ahead`. */
  readonly title: string;
  readonly fixture: DriverFixture;
}

export async function ownFixtures(): Promise<NamedFixture[]> {
  const names = globSync('*/{*.,}fixture.ts', { cwd: import.meta.dirname }).sort();
  const files = names.map((name) => pathToFileURL(join(import.meta.dirname, name)).href);
  const modules = await Promise.all(
    files.map((file) => import(/* @vite-ignore */ file) as Promise<Record<string, DriverFixture>>),
  );
  return modules.flatMap((module) =>
    Object.entries(module).map(([name, fixture]) => ({
      title: [fixture.module.name, ...(name === 'fixture' ? [] : [name])].join(' '),
      fixture,
    })),
  );
}
