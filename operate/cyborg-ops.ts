#!/usr/bin/env node
// `cyborg-ops <command> [<verb>] ...`: what operators run. ops/table.ts has the commands, and
// docs/cyborg-ops.md explains them.

import { readSurroundings, run } from './ops/run.ts';

// A reader such as `head` has enough.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
}

const exitCode = await run(process.argv.slice(2), readSurroundings(process));
if (exitCode !== undefined) process.exitCode = exitCode;
