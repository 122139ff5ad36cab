import { RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import {
  AwsCustomResource,
  AwsCustomResourcePolicy,
  PhysicalResourceId,
} from 'aws-cdk-lib/custom-resources';
import type { Construct } from 'constructs';
import { acknowledgeWildcard } from './nag.ts';
import type { DeploymentSettings } from './settings.ts';

/**
 * AWS IoT tells of jobs that end only once it was told to, account by account and region by region;
 * CloudFormation has no resource for that. Nothing is undone with the stack: others may count on it.
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
      // The setting is the account's: it has no ARN.
      new PolicyStatement({ actions: ['iot:UpdateEventConfigurations'], resources: ['*'] }),
    ]),
  });
  acknowledgeWildcard(setting, '*', 'The one action allowed is on a setting without ARN.');
}
