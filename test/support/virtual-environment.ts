// Python programs from PyPI, each in a virtual environment of its own that is kept between runs.

import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Installs exactly what the file lists, unless that is there.
 *
 * @param directory of the environment
 * @param requirements as pip freezes them: all packages with their versions
 * @returns the directory of its programs
 * @throws Error with the last of what pip said
 */
export function ensureEnvironment(directory: string, requirements: string): string {
  // Written last: an installation that was interrupted is begun anew.
  const mark = join(directory, 'installed');
  if (!existsSync(mark)) {
    rmSync(directory, { recursive: true, force: true });
    try {
      execFileSync('/usr/bin/python3', ['-m', 'venv', directory], { stdio: 'pipe' });
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      const python = join(directory, 'bin/python');
      execFileSync(python, [...pip, '-r', requirements], { stdio: 'pipe' });
    } catch (error) {
      const said = String((error as { stderr?: Buffer }).stderr ?? error);
      throw new Error(`${directory} cannot be installed: ${said.trim().slice(-500)}`);
    }
    writeFileSync(mark, '');
  }
  return join(directory, 'bin');
}
