// How a new version of the functions of Nova's path takes over: first it is checked before any
// request reaches it, then it gets a part of the requests, and an alarm of the stage takes them
// back from it. AWS CodeDeploy does it, at each deployment that changes such a function.

import { Fn } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import {
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { newVersionsVariable } from '#core/settings.ts';
import { constructId } from '#infra/construct-id.ts';
import type { AlarmName } from '#infra/monitoring/alarm-entries.ts';
import type { Shifting } from '#infra/settings/choices.ts';
import { LambdaFunction, liveAlias, type Surroundings } from './lambda-function.ts';

/** Alarms that may be the fault of a new version. */
export const endingAlarms = [
  'api-errors',
  'changes-late',
  'consumers-fail',
  'binds-fail',
  'functions-throttled',
] as const satisfies readonly AlarmName[];

const steps = {
  canary: LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES,
  linear: LambdaDeploymentConfig.LINEAR_10PERCENT_EVERY_1MINUTE,
} as const;

export interface ReleasesProps {
  readonly surroundings: Surroundings;
  readonly shifting: Exclude<Shifting, 'all-at-once'>;
  /** All functions of the stack. */
  readonly functions: readonly LambdaFunction[];
  readonly alarms: readonly Alarm[];
}

export class Releases extends Construct {
  constructor(scope: Construct, id: string, props: ReleasesProps) {
    super(scope, id);
    const { surroundings, shifting, functions, alarms } = props;
    const { stage } = surroundings.settings;
    const check = new LambdaFunction(this, surroundings, {
      name: 'release-check',
      entry: 'functions/consumers/release-check.ts',
      timeoutSeconds: 180,
      memoryMb: 512,
    });
    const application = new LambdaApplication(this, 'Application', {
      applicationName: `${stage}-cyborg`,
    });
    const watched = alarms.filter(({ node }) =>
      (endingAlarms as readonly string[]).includes(node.id),
    );
    const role = roleFor(this, check, functions, watched);
    const versions: string[] = [];
    for (const each of functions) {
      const { name, live, functionName } = each;
      if (!live) continue;
      versions.push(Fn.join(':', [functionName, live.version.version]));
      new LambdaDeploymentGroup(this, constructId(name), {
        application,
        deploymentGroupName: `${stage}-${name}`,
        alias: live,
        // It would get AWS's managed policy, which names no function.
        role: role.withoutPolicyUpdates(),
        deploymentConfig: steps[shifting],
        alarms: watched,
        preHook: check,
      });
      // It has the numbers of the new versions before one of them is asked about.
      live.node.addDependency(check, role);
    }
    check.addEnvironment(newVersionsVariable, versions.join(','));
  }
}

/** What CodeDeploy may: ask the check and the alarms, and set the aliases. */
function roleFor(
  scope: Construct,
  check: LambdaFunction,
  functions: readonly LambdaFunction[],
  alarms: readonly Alarm[],
) {
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
  });
  const allow = (actions: string[], resources: string[]) =>
    role.addToPolicy(new PolicyStatement({ actions, resources }));
  allow(['lambda:InvokeFunction'], [check.functionArn]);
  const aliases = functions.flatMap(({ live, functionArn }) =>
    live ? [functionArn, `${functionArn}:${liveAlias}`] : [],
  );
  allow(
    ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
    aliases,
  );
  allow(
    ['cloudwatch:DescribeAlarms'],
    alarms.map(({ alarmArn }) => alarmArn),
  );
  return role;
}
