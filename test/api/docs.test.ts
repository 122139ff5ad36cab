// The examples of docs/api.md work as the page says.

import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { examplesOf } from '#test/support/doc-examples.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);

beforeAll(() => applyReport(world.deps, 'cmp1', aReport([aDevice()]), Date.now()));
function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it.skipIf(!hasCurl())('each curl line of docs/api.md succeeds', async () => {
  const { curl } = examplesOf('api.md');
  expect(curl.length).toBeGreaterThan(5);
  const script = `set -eu\n${curl.join('\necho\n')}`;
  const env = { ...process.env, API: `${world.apiUrl}/accelerator/v2` };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env });
  expect(stdout).toContain('"state":"Bound"');
  expect(stdout).toContain('"status":"maintaining"');
  expect(stdout).toContain('"key":"rack"');
});
