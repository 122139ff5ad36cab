// `cyborg-ops settle <host> --boot <boot id>`: ends an identity conflict after one of the two
// agents was stopped or enrolled as another host. Without `--boot` it lists the boots that have
// reported. The settings are those of the functions, from the environment or from `--environment
// <file>`.

import { createDeps } from '#core/deps.ts';
import { ConflictStays } from '#core/domain/operator-errors.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import { printLine } from '#operate/print-line.ts';

async function main(input: Input): Promise<void> {
  const hostname = input.argument('host');
  const boot = input.text('boot');
  const deps = createDeps('settle');
  if (boot !== undefined) {
    await endConflict(deps, hostname, boot);
    printLine(`${hostname}: boot ${boot} is the host's; its next report ends the conflict.`);
    return;
  }
  const { conflict } = await deps.store.inventory.hostAlone(hostname);
  printLine(
    conflict
      ? `${hostname}: in conflict since ${conflict.since}`
      : `${hostname}: no identity conflict`,
  );
  for (const { bootId, lastAt } of conflict?.boots ?? []) {
    printLine(`  boot ${bootId}, last report ${lastAt}`);
  }
}

export const settle: StackCommand = {
  main,
  isRefusal: (error) => error instanceof ConflictStays,
};
