// `cyborg-ops cost`: dollars per million servers, and for idle hosts.

import {
  billOf,
  billOfFixedCosts,
  billOfIdleHost,
  billOfTraces,
  billsOfNetwork,
  dollarsOf,
  memory,
  scaled,
  serverKinds,
  serverTitles,
  standingTitles,
  taken,
} from './bill.ts';
import { dollarsOfProvisioned } from './fixed-costs.ts';
import { markdown, priceRows, rowsOf } from './print-bill.ts';
import { stackCosts } from './stack-costs.ts';

const million = 1_000_000;
const hosts = 10_000;

async function main(): Promise<void> {
  console.log(
    '\nUS dollars per million servers with one accelerator each, from creation to deletion\n',
  );
  const servers = serverKinds.map((kind) => scaled(billOf(kind), million));
  console.log(markdown(serverTitles, rowsOf(servers)));
  const traced = serverKinds.map((kind) => dollarsOf(scaled(billOfTraces(kind), million)).trace);
  console.log(`\nThe setting tracing adds at most ${traced.join(', ')}.`);

  console.log(
    `\nUS dollars a month for ${hosts.toLocaleString('en')} idle hosts, and for the stack itself\n`,
  );
  const idle = scaled(billOfIdleHost(), hosts);
  const standing = billOfFixedCosts(stackCosts());
  console.log(markdown(standingTitles, rowsOf([idle, standing, ...billsOfNetwork()])));

  const [ofNova, ofReaders] = [memory.request, memory.consumer].map((gigabytes) =>
    dollarsOfProvisioned(gigabytes).toFixed(2),
  );
  console.log(
    `\nAn execution that is provisioned at all hours costs ${ofNova} a month of a function that Nova calls, and ${ofReaders} of a reader of the streams.`,
  );

  console.log('\nPrices, without free tiers, taxes and without OpenStack and the network to it\n');
  console.log(markdown(['for', 'dollars', 'from'], priceRows()));

  console.log(
    '\nCounted: infra/cost/counted-units.ts. Assumptions, which cannot be counted here:\n',
  );
  console.log(
    markdown(
      ['', 'taken'],
      Object.entries(taken).map(([name, value]) => [name, `${value}`]),
    ),
  );
}

export const cost = { main };
