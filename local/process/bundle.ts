// The processes' code, bundled at each start. A process that loads 20 files instead of 900, and need
// not strip types, takes half the memory and starts in half the time.

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

export interface Bundles {
  readonly part: string;
  readonly agent: string;
}

/** Runs the compiler itself: its library would stay in our memory. @throws Error with what it says */
export async function bundleProcesses(directory: string): Promise<Bundles> {
  const compiler = `@esbuild/${process.platform}-${process.arch}/bin/esbuild`;
  await run(
    createRequire(createRequire(import.meta.url).resolve('esbuild')).resolve(compiler),
    [
      'part=local/process/part.ts',
      'agent=edge-agent/main.ts',
      `--outdir=${directory}`,
      '--out-extension:.js=.mjs',
      '--bundle',
      // A part loads its own modules alone.
      '--splitting',
      '--platform=node',
      '--format=esm',
      '--main-fields=module,main',
      '--target=node24',
      '--log-level=error',
      '--legal-comments=none',
      // CommonJS libraries require Node's own modules.
      "--banner:js=import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
      // A copy of Node's own streams for other runtimes.
      '--alias:readable-stream=node:stream',
    ],
    { cwd: root },
  );
  return { part: join(directory, 'part.mjs'), agent: join(directory, 'agent.mjs') };
}
