// `npm run -s scale`: 10,000 hosts and 50 binds a second against AWS's limits, in virtual time.

import { markdown } from '#infra/cost/print-bill.ts';
import { takeNoArguments } from '#operate/arguments.ts';
import { bindHead, bindRow, binds, bootHead, bootRow, boots } from './scenarios.ts';

takeNoArguments('npm run -s scale    10,000 hosts and 50 binds a second against the limits of AWS');

const tableOf = <Row>(
  all: Readonly<Record<string, Row>>,
  row: (name: string, one: Row) => string[],
) => Object.entries(all).map(([name, one]) => row(name, one));

console.log(`\n${markdown(bindHead, tableOf(binds, bindRow))}`);
console.log(`\n${markdown(bootHead, tableOf(boots, bootRow))}`);
