// The browser: Debian's Chromium, which the suite drives by playwright-core.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { apt, CannotRun } from '#test/kernel/packages.ts';

const chromium = '/usr/bin/chromium';

/** Installs Chromium where it is missing. Returns its program. @throws CannotRun */
export function ensureChromium(): string {
  if (existsSync(chromium)) return chromium;
  if (!existsSync('/usr/bin/apt-get')) {
    throw new CannotRun(`it needs ${chromium}, which Debian's package chromium has`);
  }
  if (process.getuid?.() !== 0) throw new CannotRun('it needs root to install chromium');
  console.log('Installing chromium ...');
  try {
    apt('update');
    apt('install', '--yes', '--no-install-recommends', 'chromium', 'fonts-dejavu-core');
  } catch (error) {
    throw new CannotRun((error as Error).message);
  }
  const { status } = spawnSync(chromium, ['--version']);
  if (status !== 0) throw new CannotRun(`${chromium} does not start`);
  return chromium;
}
