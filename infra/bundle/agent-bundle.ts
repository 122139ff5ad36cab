// The agent as one file, for hosts without npm and with Node 20 or later.

import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The file into which esbuild writes the licences of bundled packages. */
export const licencesOf = (file: string) => `${file}.LEGAL.txt`;

/** @returns what it is made of */
export async function bundleAgent(outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['edge-agent/main.ts'],
    outfile,
    bundle: true,
    minify: true,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // The MQTT library is CommonJS and requires Node's own modules.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    // The package is a copy of Node's streams for other runtimes.
    alias: { 'readable-stream': 'node:stream' },
    legalComments: 'external',
  });
  return metafile;
}
