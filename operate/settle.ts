// `cyborg-ops settle <host> --boot <boot id>`: ends an identity conflict after one of the two
// agents was stopped or enrolled as another host. Without `--boot` it lists the boots that have
// reported. The settings are those of the functions, from the environment or from `--environment
// <file>`.

import { parseArgs } from 'node:util';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { print } from '#core/command-line/print.ts';
import { createDeps } from '#core/deps.ts';
import { ConflictStays } from '#core/domain/operator-errors.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import { loadEnvironment } from './environment.ts';
import type { StackCommand } from './ops/verb.ts';

async function main(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { boot: { type: 'string' }, environment: { type: 'string' } },
  });
  const [hostname, ...others] = positionals;
  if (hostname === undefined || others.length > 0) {
    throw new WrongArguments('Exactly one host must be given.');
  }
  if (values.environment !== undefined) loadEnvironment(values.environment);
  const deps = createDeps('settle');
  if (values.boot !== undefined) {
    await endConflict(deps, hostname, values.boot);
    print(`${hostname}: boot ${values.boot} is the host's; its next report ends the conflict.`);
    return;
  }
  const { conflict } = await deps.store.inventory.hostAlone(hostname);
  print(
    conflict
      ? `${hostname}: in conflict since ${conflict.since}`
      : `${hostname}: no identity conflict`,
  );
  for (const { bootId, lastAt } of conflict?.boots ?? []) {
    print(`  boot ${bootId}, last report ${lastAt}`);
  }
}

export const settle: StackCommand = {
  main,
  isRefusal: (error) => error instanceof ConflictStays,
};
