// The permanent parts of the stack, counted in its template. The bundle of cyborg-ops has the
// counts instead of this module, since it has no CDK.

import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { readSettings } from '#infra/settings/settings.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';
import type { FixedCosts } from './bill.ts';
import { fixedCostsOf } from './fixed-costs.ts';

export function stackCosts(): FixedCosts {
  const settings = readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8');
  const { context } = JSON.parse(settings);
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  const stack = new CyborgStack(app, 'cost', { settings: readSettings(app.node) });
  const { Resources } = app.synth().getStackByName(stack.stackName).template;
  return fixedCostsOf(Object.values(Resources));
}
