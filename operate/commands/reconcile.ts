// `cyborg-ops reconcile <host> ...`: compares the stored devices of these hosts with Placement
// and with the hosts' last reports. It changes nothing; with `--repair` it writes the stored
// state to Placement, as the hourly comparison does. The settings are those of the functions,
// from the environment or from `--environment <file>`.

import { createConsumerDeps } from '#core/consumer-deps.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { type Comparison, compareHost } from '#core/operations/placement/compare-host.ts';
import { restoreProviders } from '#core/operations/placement/sync-providers.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import { printLine } from '#operate/print-line.ts';

async function main(input: Input): Promise<void> {
  const deps = createConsumerDeps('reconcile');
  let differences = 0;
  for (const hostname of input.repeated('host')) {
    const rows = await compareHost(deps, hostname);
    if (rows.length === 0) {
      const { host } = await deps.store.inventory.host(hostname);
      if (host.lastReportAt === undefined)
        throw new Error(`No host ${hostname} has ever reported.`);
    }
    const differing = rows.filter((row) => !row.agrees).length;
    printLine(`${hostname}: ${rows.length} providers, ${differing} differ`);
    for (const row of rows) printComparison(row);
    differences += differing;
    if (!input.has('repair')) continue;
    const { devices } = await deps.store.inventory.host(hostname);
    for (const { providers } of devices) {
      if (providers[0]) await restoreProviders(deps, providers[0]).catch(printError);
    }
    const left = (await compareHost(deps, hostname)).filter((row) => !row.agrees).length;
    printLine(`${hostname}: repaired; ${left} still differ`);
    differences += left - differing;
  }
  process.exitCode = differences > 0 ? 1 : 0;
}

/** A device that waits for another process does not block other devices. */
function printError(error: Error): void {
  if (!(error instanceof RetryLater)) throw error;
  printLine(`      pending     ${error.message}`);
}

function printComparison({ provider, stored, placement, host, agrees }: Comparison): void {
  printLine(`${agrees ? '  ' : '≠ '}${provider}`);
  printLine(`      DynamoDB   ${stored}`);
  printLine(`      Placement  ${placement}`);
  printLine(`      host       ${host}`);
}

export const reconcile: StackCommand = { main };
