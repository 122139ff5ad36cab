// `npm run -s settle -- <host> --boot <boot id>`: ends a conflict of identity, when one of the two agents
// that reported as the host has been ended or enrolled as another host. Without `--boot` it lists
// which boots have reported. The settings are those of the functions, from the environment or from
// `--environment <file>`.

import { parseArgs } from 'node:util';
import { createDeps } from '#core/deps.ts';
import { endConflict } from '#core/operations/inventory/end-conflict.ts';
import { sentenceOf } from './arguments.ts';
import { loadEnvironment } from './environment.ts';

async function main(): Promise<void> {
  const { values: given, positionals } = parseArgs({
    allowPositionals: true,
    options: { boot: { type: 'string' }, environment: { type: 'string' } },
  });
  const [hostname, ...others] = positionals;
  if (hostname === undefined || others.length > 0) {
    throw new Error('Name one host: npm run -s settle -- cmp1 --boot <boot id>');
  }
  if (given.environment !== undefined) loadEnvironment(given.environment);
  const deps = createDeps('settle');
  if (given.boot !== undefined) {
    await endConflict(deps, hostname, given.boot);
    console.log(`${hostname}: boot ${given.boot} is the host's; its next report brings it back.`);
    return;
  }
  const { conflict } = await deps.store.inventory.hostAlone(hostname);
  console.log(
    conflict
      ? `${hostname}: in conflict since ${conflict.since}`
      : `${hostname}: in no conflict of identity`,
  );
  for (const { bootId, lastAt } of conflict?.boots ?? []) {
    console.log(`  boot ${bootId}, last report ${lastAt}`);
  }
}

main().catch((error: Error) => {
  console.error(sentenceOf(error));
  process.exitCode = 2;
});
