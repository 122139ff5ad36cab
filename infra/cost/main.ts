// `npm run -s cost`: dollars per million servers, and for idle hosts.

import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { takeNoArguments } from '#operate/arguments.ts';
import { CyborgStack } from '../cyborg-stack.ts';
import { readSettings } from '../settings.ts';
import { billOf, billOfFixedCosts, billOfIdleHost, scaled, taken } from './bill.ts';
import { fixedCostsOf } from './fixed-costs.ts';
import { markdown, priceRows, rowsOf } from './print-bill.ts';

takeNoArguments('npm run -s cost    the price of servers and of idle hosts, in US dollars');

const million = 1_000_000;
const hosts = 10_000;

const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
const stack = new CyborgStack(app, 'cost', readSettings(app.node));
const { Resources } = app.synth().getStackByName(stack.stackName).template;

console.log(
  '\nUS dollars per million servers with one accelerator each, from creation to deletion\n',
);
const servers = (['pci', 'vgpu', 'fpga'] as const).map((kind) => scaled(billOf(kind), million));
console.log(markdown(['', 'PCI', 'vGPU', 'FPGA, programmed'], rowsOf(servers)));

console.log(
  `\nUS dollars a month for ${hosts.toLocaleString('en')} idle hosts, and for the stack itself\n`,
);
const idle = scaled(billOfIdleHost(), hosts);
const standing = billOfFixedCosts(fixedCostsOf(Object.values(Resources)));
console.log(markdown(['', 'hosts', 'stack'], rowsOf([idle, standing])));

console.log('\nPrices, without free tiers, taxes and without OpenStack and the network to it\n');
console.log(markdown(['for', 'dollars', 'from'], priceRows()));

console.log('\nCounted: infra/cost/counted-units.ts. Assumptions, which cannot be counted here:\n');
console.log(
  markdown(
    ['', 'taken'],
    Object.entries(taken).map(([name, value]) => [name, `${value}`]),
  ),
);
