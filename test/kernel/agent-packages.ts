// The agent's packages, as `npm run agent:package` makes them, for a host with dpkg.

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentVersion } from '#agent/version.ts';
import { optionOf } from '#test/support/suites/scenario-suite.ts';

const root = join(import.meta.dirname, '../..');

/** The same agent twice: the second one upgrades the first one. */
export const packageVersions = [`${agentVersion}-1`, `${agentVersion}-2`] as const;

/** Where {@link addPackages} puts a package in a system. */
export function packageFile(version: string): string {
  return `/root/cyborg-agent_${version}_amd64.deb`;
}

/** Packs both versions, or takes them from the folder of `--packages`, if it is given. */
export function addPackages(system: string): void {
  const given = optionOf('--packages');
  rmSync(join(system, 'root'), { recursive: true, force: true });
  mkdirSync(join(system, 'root'));
  const folder = given ?? mkdtempSync(join(tmpdir(), 'cyborg-packages-'));
  try {
    for (const version of packageVersions) {
      const [, revision = ''] = version.split('-');
      const name = `cyborg-agent_${version}_amd64.deb`;
      const pack = ['infra/agent-package/main.ts', '--revision', revision, '--out', folder];
      if (!existsSync(join(folder, name)))
        execFileSync(process.execPath, pack, { cwd: root, stdio: 'pipe' });
      copyFileSync(join(folder, name), join(system, packageFile(version)));
    }
  } finally {
    if (given === undefined) rmSync(folder, { recursive: true });
  }
}
