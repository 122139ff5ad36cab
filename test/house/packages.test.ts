// What every npm must be able to install from the lockfile, and what may be in it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { dependencies, isAllowed, packageFolders, readAudit } from './dependencies.ts';

const lockfile = z.object({
  packages: z.record(z.string(), z.object({ bin: z.record(z.string(), z.string()).optional() })),
});

it.each(packageFolders)('in %s no command comes from two packages', (folder) => {
  const text = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const { packages } = lockfile.parse(JSON.parse(text));
  const bins = Object.entries(packages)
    .filter(([path]) => path !== '')
    .flatMap(([path, { bin }]) =>
      Object.keys(bin ?? {}).map((name) => ({
        link: join(path.slice(0, path.lastIndexOf('node_modules/')), 'node_modules/.bin', name),
        path,
      })),
    );
  expect(bins.length).toBeGreaterThan(5);
  const byLink = Map.groupBy(bins, ({ link }) => link);
  // npm 10 leaves out a package for another platform together with its commands: also those that a
  // second package, for this platform, has just put there.
  expect([...byLink].filter(([, each]) => each.length > 1)).toEqual([]);
});

it('every package has a licence that allows its use here', () => {
  const all = dependencies();
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(({ licence }) => !isAllowed(licence))).toEqual([]);
  expect(['GPL-3.0-or-later', 'none', 'UNLICENSED'].filter(isAllowed)).toEqual([]);
});

it('an audit of npm has its advisories, or why the registry was not asked', () => {
  const vulnerabilities = { mqtt: { name: 'mqtt', severity: 'high', range: '<5.16.1' } };
  expect(readAudit(JSON.stringify({ vulnerabilities }))).toEqual({
    advisories: ['high  mqtt <5.16.1'],
  });
  const message = '405 Method Not Allowed - POST http://127.0.0.1/-/npm/v1/security';
  expect(readAudit(JSON.stringify({ message }))).toEqual({ skipped: '405 Method Not Allowed' });
});
