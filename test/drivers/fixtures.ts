// Fixtures: of all own drivers, of which each folder here has its `fixture.ts`, or several; and of
// an operator's driver, made of its file, its settings, and a tree that is copied for each host.
// The kernel's side of that is a file of its own, whose default export is a function of the tree.

import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { toolkit as toModules } from '#agent/config/toolkit.ts';
import type { DriverModule } from '#agent/drivers/contract/define-driver.ts';
import { WrongArguments } from '#core/command-line/arguments.ts';
import type { DriverFixture, FixtureHost } from './fixture.ts';

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

export interface OperatorGiven {
  readonly module: string;
  readonly tree: string;
  readonly settings?: string | undefined;
  readonly kernel?: string | undefined;
}

type Kernel = (host: { readonly root: string }) => Omit<FixtureHost, 'root' | 'remove'>;

export async function operatorFixture(given: OperatorGiven): Promise<NamedFixture> {
  const make = await defaultOf<(given: object) => DriverModule>(given.module);
  const kernel = given.kernel === undefined ? undefined : await defaultOf<Kernel>(given.kernel);
  const module = make(toModules);
  const { settings } = given;
  return {
    title: module.name,
    fixture: {
      module,
      ...(settings !== undefined && { settings: JSON.parse(readFileSync(settings, 'utf8')) }),
      bus: ['bus', 'bus/pci/devices', 'class'],
      host: () => {
        const root = join(mkdtempSync(join(tmpdir(), 'tree-')), 'sys');
        // Links stay relative, so that they stay inside of the copy.
        cpSync(given.tree, root, { recursive: true, verbatimSymlinks: true });
        return {
          root,
          ...kernel?.({ root }),
          remove: () => rmSync(join(root, '..'), { recursive: true, force: true }),
        };
      },
    },
  };
}

async function defaultOf<T>(file: string): Promise<T> {
  const { default: found } = (await import(pathToFileURL(resolve(file)).href)) as { default?: T };
  if (typeof found === 'function') return found;
  throw new WrongArguments(`${file} must have a function as its default export.`);
}
