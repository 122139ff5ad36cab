// A platform team's app: the team's own network and topic of alarms, and Cyborg, which uses both.
// The team adds a mail subscription, an endpoint of its network, an alarm and a tag.

import { App, Duration, Stack, Tags } from 'aws-cdk-lib';
import { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { GatewayVpcEndpointAwsService, SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { CyborgStack } from 'cyborg-serverless';

const app = new App();

const platform = new Stack(app, 'platform');
const topic = new Topic(platform, 'Pager', { enforceSSL: true });
topic.addSubscription(new EmailSubscription('platform@example.org'));
const vpc = new Vpc(platform, 'Network', { maxAzs: 2, natGateways: 1 });
vpc.addGatewayEndpoint('Tables', { service: GatewayVpcEndpointAwsService.DYNAMODB });
const securityGroup = new SecurityGroup(platform, 'Functions', { vpc });

const cyborg = new CyborgStack(app, 'cyborg', {
  settings: {
    stage: 'prod',
    keystoneUrl: 'https://keystone.example.org/v3',
    passwordSecret: 'cyborg/keystone-password',
    alarmTopicArn: topic.topicArn,
    subnetIds: vpc.privateSubnets.map(({ subnetId }) => subnetId),
    securityGroupIds: [securityGroup.securityGroupId],
    reservedConcurrency: { 'accelerator-requests': 300, 'device-profiles': 100 },
  },
});

const extras = new Stack(app, 'extras');
const slow = new Alarm(extras, 'SlowBinds', {
  alarmDescription: 'Nova waits for this function while a server boots.',
  metric: cyborg.functions['accelerator-requests'].metricDuration({
    period: Duration.minutes(5),
    statistic: 'p99',
  }),
  threshold: 5_000,
  evaluationPeriods: 3,
});
slow.addAlarmAction(new SnsAction(topic));

Tags.of(app).add('cost-center', 'platform');
