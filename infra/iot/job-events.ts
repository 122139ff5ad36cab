import { RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import {
  AwsCustomResource,
  AwsCustomResourcePolicy,
  PhysicalResourceId,
} from 'aws-cdk-lib/custom-resources';
import type { Construct } from 'constructs';
import { acknowledgeWildcard } from '#infra/nag.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';

/**
 * AWS IoT publishes job execution events only if they are enabled per account and region.
 * CloudFormation has no resource for that. Removing the stack leaves them enabled, because other
 * applications may use them.
 * https://docs.aws.amazon.com/iot/latest/developerguide/iot-events.html
 */
export function enableJobEvents(scope: Construct, { stage, logRetention }: DeploymentSettings) {
  const functionName = `${stage}-enable-job-events`;
  const logGroup = new LogGroup(scope, 'EnableJobEventsLog', {
    logGroupName: `/aws/lambda/${functionName}`,
    retention: logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const role = new Role(scope, 'EnableJobEventsRole', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
  });
  logGroup.grantWrite(role);
  const setting = new AwsCustomResource(scope, 'EnableJobEvents', {
    functionName,
    logGroup,
    role,
    installLatestAwsSdk: false,
    onUpdate: {
      service: 'iot',
      action: 'UpdateEventConfigurations',
      parameters: { eventConfigurations: { JOB_EXECUTION: { Enabled: true } } },
      physicalResourceId: PhysicalResourceId.of('job-execution-events'),
    },
    policy: AwsCustomResourcePolicy.fromStatements([
      // The setting belongs to the account and has no ARN.
      new PolicyStatement({ actions: ['iot:UpdateEventConfigurations'], resources: ['*'] }),
    ]),
  });
  acknowledgeWildcard(setting, '*', 'The only allowed action is on a setting without ARN.');
}
