import { CfnOutput } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '#infra/settings/settings.ts';

/**
 * The topic of alarms: an existing one, or one of our own that sends mail. Without a setting
 * there is none. CloudWatch cannot publish to a topic under AWS's managed key, so our topic has
 * its own key.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html
 */
export function createNotification(
  scope: Construct,
  { stage, alarmTopicArn, alarmEmail }: DeploymentSettings,
): ITopic | undefined {
  if (alarmTopicArn) return Topic.fromTopicArn(scope, 'AlarmTopic', alarmTopicArn);
  if (!alarmEmail) return undefined;
  const key = new Key(scope, 'AlarmTopicKey', {
    description: `Alarms of ${stage}-cyborg`,
    enableKeyRotation: true,
  });
  key.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
      // In a key's own policy `*` means the key itself.
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
    description: 'SNS topic of all alarms; add further subscriptions here',
  });
  return topic;
}
