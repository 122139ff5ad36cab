// Before each file of a process that runs many: the file gets our own modules anew, for some of
// them keep what they have made, and the environment as the run began. Packages stay loaded.

import { afterAll, vi } from 'vitest';
import { countProcessTime } from './process-time.ts';

const environment = { ...process.env };

vi.resetModules();
countProcessTime();

afterAll(() => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
});
