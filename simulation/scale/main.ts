// `cyborg-ops scale`: launches, binds and 10,000 hosts against AWS's limits, in virtual time.

import { markdown } from '#infra/cost/print-bill.ts';
import { launches, launchHead, launchRow } from './launches/scenarios.ts';
import { bindHead, bindRow, binds, bootHead, bootRow, boots } from './scenarios.ts';

const tableOf = <Row>(
  all: Readonly<Record<string, Row>>,
  row: (name: string, one: Row) => string[],
) => Object.entries(all).map(([name, one]) => row(name, one));

async function main(): Promise<void> {
  console.log(`\n${markdown(launchHead, tableOf(launches, launchRow))}`);
  console.log(`\n${markdown(bindHead, tableOf(binds, bindRow))}`);
  console.log(`\n${markdown(bootHead, tableOf(boots, bootRow))}`);
}

export const scale = { main };
