// `npm run agent:bundle`: the agent as one file, dist/cyborg-agent.mjs.

import { spawnSync } from 'node:child_process';
import { renameSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { agentVersion } from '#agent/version.ts';
import { bundleAgent, licencesOf } from './agent-bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const outfile = `${root}dist/cyborg-agent.mjs`;
// Written under a temporary name and renamed, because the previous bundle may be running.
const made = `${root}dist/made-${process.pid}.mjs`;

await bundleAgent(made);

const { stdout, stderr, status } = spawnSync(process.execPath, [made, '--version'], {
  encoding: 'utf8',
});
if (status !== 0 || stdout.trim() !== agentVersion) {
  console.error(`The bundle does not start: ${stdout}${stderr}`);
  process.exitCode = 1;
} else {
  renameSync(licencesOf(made), licencesOf(outfile));
  renameSync(made, outfile);
  const kilobytes = Math.round(statSync(outfile).size / 1024);
  console.log(`dist/cyborg-agent.mjs ${agentVersion}, ${kilobytes} KB`);
}
