// Checks the stack's resources at AWS IoT.

import {
  DescribeEventConfigurationsCommand,
  DescribeThingTypeCommand,
  GetPolicyCommand,
  GetTopicRuleCommand,
} from '@aws-sdk/client-iot';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { CheckFailed } from '#core/command-line/checks.ts';
import { type RuleRow, ruleStatement, rules } from '#core/contracts/queues/rules.ts';
import { computeNodeName } from '#core/contracts/topics.ts';
import type { Check } from './check.ts';

const deployAgain = 'Deploy the stack again.';

export const iotChecks: readonly Check[] = [
  {
    name: 'AWS IoT endpoint',
    remedy: 'Check the AWS credentials, the region and the permission iot:DescribeEndpoint.',
    look: ({ deps, aws }) => createRegistry(aws.iot, deps.settings.stage).endpoint(),
  },
  {
    name: 'thing type of hosts',
    remedy: deployAgain,
    look: async ({ deps, aws }) => {
      const thingTypeName = computeNodeName(deps.settings.stage);
      const answer = await aws.iot.send(new DescribeThingTypeCommand({ thingTypeName }));
      if (answer.thingTypeMetadata?.deprecated) {
        throw new CheckFailed(`${thingTypeName} is deprecated.`, 'Undo its deprecation.');
      }
      return thingTypeName;
    },
  },
  {
    name: 'policy of hosts',
    remedy: deployAgain,
    look: async ({ deps, aws }) => {
      const policyName = computeNodeName(deps.settings.stage);
      await aws.iot.send(new GetPolicyCommand({ policyName }));
      return policyName;
    },
  },
  ...rules.map(
    (row: RuleRow): Check => ({
      name: `rule ${row.name}`,
      // AWS answers "unauthorized" for a rule that does not exist.
      remedy: `${deployAgain} If the rule exists, the permission iot:GetTopicRule is missing.`,
      look: async ({ deps, aws }) => {
        const { name, sql } = ruleStatement(row, deps.settings.stage);
        const { rule } = await aws.iot.send(new GetTopicRuleCommand({ ruleName: name }));
        if (rule?.ruleDisabled) throw new CheckFailed(`${name} is disabled.`, 'Enable it.');
        if (rule?.sql !== sql)
          throw new CheckFailed(`${name} has a different SQL statement.`, deployAgain);
        return name;
      },
    }),
  ),
  {
    name: 'AWS IoT publishes job execution events',
    remedy: deployAgain,
    look: async ({ aws }) => {
      const answer = await aws.iot.send(new DescribeEventConfigurationsCommand({}));
      if (answer.eventConfigurations?.JOB_EXECUTION?.Enabled) return 'JOB_EXECUTION';
      throw new CheckFailed(
        'JOB_EXECUTION events are off for the account, so binds that wait for a host time out.',
        'aws iot update-event-configurations --event-configurations \'{"JOB_EXECUTION":{"Enabled":true}}\'',
      );
    },
  },
];
