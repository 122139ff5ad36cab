import { Stack } from 'aws-cdk-lib';
import {
  Effect,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import { CfnPolicy, CfnThingType, CfnTopicRule } from 'aws-cdk-lib/aws-iot';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { queueName } from '#core/contracts/queues/queues.ts';
import { type RuleRow, ruleStatement, rules } from '#core/contracts/queues/rules.ts';
import {
  certificateRequestTopic,
  certificateTopic,
  computeNodeName,
  inventoryTopic,
  workEndTopic,
  workTopic,
} from '#core/contracts/topics.ts';
import { constructId } from '#infra/construct-id.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';
import { usingDataKey } from '#infra/storage/data-key.ts';
import { type Queues, queueOfLosses } from '#infra/storage/queues.ts';
import { enableJobEvents } from './job-events.ts';

/** Thing name of the connected host; AWS fills it in from the host's certificate. */
export const thingVariable = policyVariable('iot:Connection.Thing.ThingName');

/** https://docs.aws.amazon.com/iot/latest/developerguide/iot-policy-variables.html */
function policyVariable(name: string): string {
  return `\${${name}}`;
}

/** IoT resources for hosts: the rules of core/contracts/queues/rules.ts, and the hosts' policy. */
export class HostConnections extends Construct {
  /** The policy of each host's certificate. */
  readonly policyName: string;
  /** Messages of a rule whose queue could not be reached. */
  readonly undelivered: Queue;

  constructor(
    scope: Construct,
    id: string,
    { settings, queues }: { settings: DeploymentSettings; queues: Queues },
  ) {
    super(scope, id);
    const { stage } = settings;
    this.undelivered = queueOfLosses(this, 'RulesDeadQueue', undeliveredName(stage));
    for (const row of rules) this.#addRule(settings, row, queues[row.queue]);
    enableJobEvents(this, settings);
    new CfnThingType(this, 'ComputeNode', { thingTypeName: computeNodeName(stage) });
    this.policyName = computeNodeName(stage);
    new CfnPolicy(this, 'ComputeNodePolicy', {
      policyName: this.policyName,
      policyDocument: hostPolicy(Stack.of(this), stage),
    });
  }

  #addRule(settings: DeploymentSettings, row: RuleRow, queue: Queue): void {
    const { stage } = settings;
    const { name, sql } = ruleStatement(row, stage);
    // Not a reference to the queue: a queue that gets a key changes after the roles that use it.
    const arns = [queueName(stage, row.queue), undeliveredName(stage)].map((resource) =>
      Stack.of(this).formatArn({ service: 'sqs', resource }),
    );
    const id = constructId(row.name.replaceAll('_', '-'));
    const role = new Role(this, `${id}Role`, {
      assumedBy: new ServicePrincipal('iot.amazonaws.com', {
        // Only rules of this account may use the role.
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      inlinePolicies: {
        Send: new PolicyDocument({
          statements: [new PolicyStatement({ actions: ['sqs:SendMessage'], resources: arns })],
        }),
        ...usingDataKey(settings, ['Decrypt', 'GenerateDataKey']).inlinePolicies,
      },
    });
    const sendTo = ({ queueUrl }: Queue) => ({
      sqs: { queueUrl, roleArn: role.roleArn, useBase64: false },
    });
    new CfnTopicRule(this, `${id}Rule`, {
      ruleName: name,
      topicRulePayload: {
        sql,
        awsIotSqlVersion: '2016-03-23',
        actions: [sendTo(queue)],
        errorAction: sendTo(this.undelivered),
      },
    });
  }
}

const undeliveredName = (stage: string) => `${stage}-rules-dead`;

/**
 * A host connects as itself, publishes its own inventory, and gets its own work messages, next
 * certificate and jobs, nothing else.
 * On one machine, local/aws/broker-policy.ts enforces the same.
 */
function hostPolicy(stack: Stack, stage: string): PolicyDocument {
  const arn = (kind: string, name: string) =>
    stack.formatArn({ service: 'iot', resource: kind, resourceName: name });
  const ingested = inventoryTopic(stage, thingVariable);
  const plain = ingested.split('/').slice(3).join('/');
  const answers = workEndTopic(stage, thingVariable);
  const asks = certificateRequestTopic(stage, thingVariable);
  const work = workTopic(stage, thingVariable);
  const certificate = certificateTopic(stage, thingVariable);
  const jobs = `$aws/things/${thingVariable}/jobs/*`;
  return new PolicyDocument({
    statements: [
      new PolicyStatement({
        effect: Effect.ALLOW,
        actions: ['iot:Connect'],
        resources: [arn('client', thingVariable)],
        conditions: { Bool: { 'iot:Connection.Thing.IsAttached': 'true' } },
      }),
      new PolicyStatement({
        actions: ['iot:Publish'],
        resources: [ingested, plain, answers, asks, jobs].map((topic) => arn('topic', topic)),
      }),
      new PolicyStatement({
        actions: ['iot:Subscribe'],
        resources: [work, certificate, jobs].map((filter) => arn('topicfilter', filter)),
      }),
      new PolicyStatement({
        actions: ['iot:Receive'],
        resources: [work, certificate, jobs].map((topic) => arn('topic', topic)),
      }),
    ],
  });
}
