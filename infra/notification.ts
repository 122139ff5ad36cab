import { CfnOutput } from 'aws-cdk-lib';
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from './settings.ts';

/**
 * Who is told of alarms: a topic that is there already, or one of our own by mail. Without a setting
 * nobody is. CloudWatch cannot publish to a topic under the key that AWS manages, so ours has its own.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html
 */
export function createNotification(
  scope: Construct,
  { stage, alarmTopicArn, alarmEmail }: DeploymentSettings,
): IAlarmAction | undefined {
  if (alarmTopicArn) return new SnsAction(Topic.fromTopicArn(scope, 'AlarmTopic', alarmTopicArn));
  if (!alarmEmail) return undefined;
  const key = new Key(scope, 'AlarmTopicKey', {
    description: `Alarms of ${stage}-cyborg`,
    enableKeyRotation: true,
  });
  key.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
      // In a key's own policy this is the key itself.
      resources: ['*'],
    }),
  );
  const topic = new Topic(scope, 'AlarmTopic', {
    topicName: `${stage}-cyborg-alarms`,
    masterKey: key,
    enforceSSL: true,
  });
  topic.addSubscription(new EmailSubscription(alarmEmail));
  new CfnOutput(scope, 'AlarmTopicArn', {
    value: topic.topicArn,
    description: 'Told of each alarm; subscribe whatever else should be',
  });
  return new SnsAction(topic);
}
