// Builds the agent's helper, dist/cyborg-agent-helper: one static program, for any Linux of the
// processor of this machine, or of the compiler that CC names. Needs the kernel's headers (Debian:
// gcc, linux-libc-dev).

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [outfile = `${root}dist/cyborg-agent-helper`] = process.argv.slice(2);
const flags = ['-std=gnu11', '-Os', '-Wall', '-Wextra', '-Werror', '-static'];

mkdirSync(`${root}dist`, { recursive: true });
const source = `${root}edge-agent/helper/helper.c`;
const { error, status } = spawnSync(process.env.CC ?? 'cc', [...flags, '-o', outfile, source], {
  stdio: 'inherit',
});
if (error) {
  console.error('The helper needs a C compiler: install gcc, or take the package of the agent.');
  process.exitCode = 2;
} else if (status !== 0) {
  process.exitCode = 1;
} else {
  console.log(outfile);
}
