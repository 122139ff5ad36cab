// The stack has what operators' commands need from it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { computeNodeName } from '#core/contracts/topics.ts';
import type { FunctionName } from '#infra/access.ts';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';

const stack = synthesize();

it.each(['operations/diagnosis.md', 'deploy.md'])(
  'the function whose settings %s names has all that the doctor checks',
  (page) => {
    const text = readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8');
    const [, name] =
      /get-function-configuration --function-name (?:prod|\$STAGE)-([a-z-]+) /.exec(text) ?? [];
    const { properties } = stack.functionNamed(name as FunctionName);
    const variables = properties.Environment.Variables;
    expect(variables.CYBORG_STAGE).toBe(stage);
    expect(variables.CYBORG_OS_PASSWORD_SECRET).not.toBe('');
    expect(variables.CYBORG_STAGING_BUCKET).toBeDefined();
  },
);

it('thing type and policy have the names that enrolment uses', () => {
  const [type] = stack.ofType('AWS::IoT::ThingType');
  const [policy] = stack.ofType('AWS::IoT::Policy');
  expect(type?.properties.ThingTypeName).toBe(computeNodeName(stage));
  expect(policy?.properties.PolicyName).toBe(computeNodeName(stage));
});
