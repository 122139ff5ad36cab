// Bundles the agent into one file, dist/cyborg-agent.mjs, for hosts without npm and with Node 20
// or later.

import { spawnSync } from 'node:child_process';
import { renameSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { agentVersion } from '#agent/version.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = `${root}dist/cyborg-agent.mjs`;
// Written under a temporary name and renamed, because the previous bundle may be running.
const made = `${root}dist/made-${process.pid}.mjs`;
/** The file into which esbuild writes the licences of bundled packages. */
const licences = (file: string) => `${file}.LEGAL.txt`;

await build({
  entryPoints: [`${root}edge-agent/main.ts`],
  outfile: made,
  bundle: true,
  minify: true,
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

const { stdout, stderr, status } = spawnSync(process.execPath, [made, '--version'], {
  encoding: 'utf8',
});
if (status !== 0 || stdout.trim() !== agentVersion) {
  console.error(`The bundle does not start: ${stdout}${stderr}`);
  process.exitCode = 1;
} else {
  renameSync(licences(made), licences(outfile));
  renameSync(made, outfile);
  const kilobytes = Math.round(statSync(outfile).size / 1024);
  console.log(`dist/cyborg-agent.mjs ${agentVersion}, ${kilobytes} KB`);
}
