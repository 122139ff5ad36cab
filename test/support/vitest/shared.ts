// What tests need and must end, with the hooks that start and end it.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

type Ends = { stop(): unknown } | { remove(): unknown };

/** Starts it before the first test of the file, and ends it after the last one. */
export function perFile<T extends Ends>(start: () => T | Promise<T>): T {
  return hooked(start, beforeAll, afterAll);
}

/** Starts it before each test of the file, and ends it after the test. */
export function perTest<T extends Ends>(start: () => T | Promise<T>): T {
  return hooked(start, beforeEach, afterEach);
}

/** Stands for what was started last: tests name it before it is there. */
function hooked<T extends Ends>(
  start: () => T | Promise<T>,
  before: (hook: () => Promise<void>) => void,
  after: (hook: () => unknown) => void,
): T {
  let started: T | undefined;
  const current = () => {
    if (!started) throw new Error('It starts with the first test.');
    return started;
  };
  before(async () => {
    started = await start();
  });
  after(() => started && ('stop' in started ? started.stop() : started.remove()));
  return new Proxy({} as T, {
    get: (_, name) => {
      const value = Reflect.get(current(), name, current());
      return typeof value === 'function' ? value.bind(current()) : value;
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
  });
}

const removal = { recursive: true, force: true, maxRetries: 3 };

export function directoryPerFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-test-'));
  afterAll(() => rmSync(directory, removal));
  return directory;
}

/** The path is the same for all tests of the file, and each test has it empty. */
export function directoryPerTest(): string {
  const directory = directoryPerFile();
  beforeEach(() => void mkdirSync(directory, { recursive: true }));
  afterEach(() => rmSync(directory, removal));
  return directory;
}
