// `npm run -s check:dependencies`: each package of the lockfiles with its version and licence, and
// the advisories that the registry knows of them. A registry without an audit is skipped by name.
// Exits with 1 for a licence that no one has looked at, and for an advisory.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { print } from '#core/command-line/print.ts';

const root = join(import.meta.dirname, '../..');

/** Folders with a lockfile. */
export const packageFolders = [root, join(root, 'site')];

/** Those that allow use in and beside Apache-2.0; MPL-2.0 covers its own files only. */
const licences = new Set([
  ...['MIT', 'MIT-0', 'Apache-2.0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause'],
  ...['BlueOak-1.0.0', 'CC0-1.0', 'MPL-2.0'],
]);

const lockfile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().default(false),
    }),
  ),
});

interface Dependency {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Builds and tests only: no function, agent or command contains it. */
  readonly isForDevelopment: boolean;
}

export function dependencies(): readonly Dependency[] {
  return packageFolders.flatMap(dependenciesOf);
}

function dependenciesOf(folder: string): readonly Dependency[] {
  const text = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const { packages } = lockfile.parse(JSON.parse(text));
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { version = '', license = 'none', dev }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license,
      isForDevelopment: dev,
    }));
}

/** One of several alternatives is enough. */
export function isAllowed(licence: string): boolean {
  return licence
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((each) => licences.has(each));
}

const auditAnswer = z.union([
  z.object({
    vulnerabilities: z.record(
      z.string(),
      z.object({ name: z.string(), severity: z.string(), range: z.string() }),
    ),
  }),
  // npm's words for a registry that it cannot ask.
  z.object({ message: z.string() }),
]);

/** The advisories, each on a line; or why the registry was not asked. */
export function readAudit(output: string): { advisories: string[] } | { skipped: string } {
  const answer = auditAnswer.parse(JSON.parse(output));
  if ('message' in answer) return { skipped: answer.message.split(' - ')[0] ?? '' };
  return {
    advisories: Object.values(answer.vulnerabilities).map(
      ({ name, severity, range }) => `${severity}  ${name} ${range}`,
    ),
  };
}

async function audit(cwd: string): Promise<string> {
  // npm exits with 1 for an advisory and for a registry that does not answer; both are JSON.
  const failed = (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? '' });
  const options = { cwd, timeout: 60_000 };
  const run = promisify(execFile)('npm', ['audit', '--json'], options);
  return (await run.catch(failed)).stdout;
}

async function main(): Promise<void> {
  const all = dependencies();
  for (const { name, version, licence, isForDevelopment } of all) {
    print(`${name} ${version}  ${licence}${isForDevelopment ? '  (development)' : ''}`);
  }
  const odd = all.filter(({ licence }) => !isAllowed(licence));
  for (const { name, licence } of odd) print(`WRONG  licence of ${name}: ${licence}`);
  const audits = (await Promise.all(packageFolders.map(audit))).map(readAudit);
  const advisories = audits.flatMap((each) => ('advisories' in each ? each.advisories : []));
  const skipped = audits.flatMap((each) => ('skipped' in each ? [each.skipped] : []))[0];
  for (const each of advisories) print(`WRONG  advisory: ${each}`);
  const day = new Date().toISOString().slice(0, 10);
  const known = `${advisories.length} advisories known on ${day}`;
  print(
    `${all.length} packages, ${odd.length} odd licences, ${skipped === undefined ? known : `advisories skipped: the registry answers ${skipped}`}`,
  );
  process.exitCode = odd.length + advisories.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
