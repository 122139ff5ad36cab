// The browser: Debian's Chromium, which the suite drives by playwright-core.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { ensurePackages } from '#test/support/suites/debian.ts';

const chromium = '/usr/bin/chromium';

/** Installs Chromium where it is missing. Returns its program. @throws CannotRun */
export function ensureChromium(): string {
  if (!existsSync(chromium)) ensurePackages(['chromium', 'fonts-dejavu-core']);
  const { status } = spawnSync(chromium, ['--version']);
  if (status !== 0) throw new CannotRun(`${chromium} does not start`);
  return chromium;
}
