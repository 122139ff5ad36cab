// Python programs from PyPI, each in a virtual environment of its own that is reused by later
// runs.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Installs exactly the packages of the file, unless they are installed already.
 *
 * @param directory of the environment
 * @param requirements in the form of pip freeze: all packages with their versions
 * @returns the directory of the programs
 * @throws Error with the last output of pip
 */
export function ensureEnvironment(directory: string, requirements: string): string {
  // The mark is written last: an interrupted installation starts from the beginning.
  const mark = join(directory, 'installed');
  const packages = readFileSync(requirements, 'utf8');
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== packages) {
    rmSync(directory, { recursive: true, force: true });
    try {
      execFileSync('/usr/bin/python3', ['-m', 'venv', directory], { stdio: 'pipe' });
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      const python = join(directory, 'bin/python');
      execFileSync(python, [...pip, '-r', requirements], { stdio: 'pipe' });
    } catch (error) {
      const said = String((error as { stderr?: Buffer }).stderr ?? error);
      throw new Error(`Installing ${directory} failed: ${said.trim().slice(-500)}`);
    }
    writeFileSync(mark, packages);
  }
  return join(directory, 'bin');
}
