import { describe, expect, it } from 'vitest';
import { ruleStatement, rules } from '#core/contracts/queues/rules.ts';
import {
  certificateRequestTopic,
  certificateTopic,
  inventoryTopic,
  ruleName,
  thingName,
  workEndTopic,
  workTopic,
} from '#core/contracts/topics.ts';
import { thingVariable } from '#infra/iot/iot.ts';
import { stage, statementOf, synthesize } from '#infra/privileges/synthesized.ts';
import { mayPublish, maySubscribe } from '#local/aws/broker-policy.ts';

const stack = synthesize();

describe('rules', () => {
  const deployed = new Map(
    stack
      .ofType('AWS::IoT::TopicRule')
      .map(({ properties }) => [properties.RuleName, properties.TopicRulePayload]),
  );

  it.each(rules)('$name reads its topic and feeds its queue', (row) => {
    const payload = deployed.get(ruleName(stage, row.name));
    expect(payload.Sql).toBe(ruleStatement(row, stage).sql);
    expect(payload.Actions).toMatchObject([
      { Sqs: { QueueUrl: `https://sqs/000000000000/${stage}-${row.queue}`, UseBase64: false } },
    ]);
    expect(payload.ErrorAction.Sqs.QueueUrl).toMatch(/\/test-rules-dead$/);
  });

  it('are those of the table only, by names that IoT takes', () => {
    expect(deployed.size).toBe(rules.length);
    for (const name of deployed.keys()) expect(name).toMatch(/^[a-zA-Z0-9_]+$/);
  });

  it('may send to their own queue and to the one for undelivered messages, and nowhere else', () => {
    const roles = new Map(stack.ofType('AWS::IAM::Role').map((role) => [role.id, role.properties]));
    for (const row of rules) {
      const { RoleArn } = deployed.get(ruleName(stage, row.name)).Actions[0].Sqs;
      const role = roles.get(RoleArn.split('/').at(-1));
      expect(role.AssumeRolePolicyDocument.Statement).toMatchObject([
        {
          Principal: { Service: 'iot.amazonaws.com' },
          Condition: { StringEquals: { 'aws:SourceAccount': '000000000000' } },
        },
      ]);
      expect(role.Policies[0].PolicyDocument.Statement.map(statementOf)).toEqual([
        {
          actions: ['sqs:SendMessage'],
          resources: expect.toSatisfy(
            (resources: string[]) =>
              [row.queue, 'rules-dead'].every((queue) =>
                resources.includes(`arn:aws:sqs:us-east-1:000000000000:${stage}-${queue}`),
              ) && resources.length === 2,
          ),
        },
      ]);
    }
  });
});

describe('the account-wide setting', () => {
  const requests = stack.resources.filter(
    ({ type, properties }) =>
      type.startsWith('Custom::') && !properties.Create?.includes('UpdateTable'),
  );

  it('is the only one: AWS IoT publishes events of jobs that end', () => {
    expect(requests.map(({ type }) => type)).toEqual(['Custom::AWS']);
    for (const asked of ['Create', 'Update']) {
      expect(JSON.parse(requests[0]?.properties[asked])).toMatchObject({
        action: 'UpdateEventConfigurations',
        // It is a PATCH: it names no other event, so it turns none on or off.
        parameters: { eventConfigurations: { JOB_EXECUTION: { Enabled: true } } },
      });
    }
  });

  it('is never undone, because other stages may depend on it', () => {
    for (const { properties } of requests) expect(properties.Delete).toBeUndefined();
    const ofAccount = /Account|Logging|Indexing|EventConfiguration|EncryptionConfiguration/;
    expect(stack.resources.filter(({ type }) => ofAccount.test(type))).toEqual([]);
  });
});

describe('the policy of hosts', () => {
  const me = thingName(stage, 'cmp1.cloud.test');
  const [policy] = stack.ofType('AWS::IoT::Policy');
  const statements = policy?.properties.PolicyDocument.Statement;

  /** Decides as IoT does, with the variable of the host's own thing filled in. */
  function may(action: string, kind: string, name: string): boolean {
    return statements.map(statementOf).some(
      ({ actions, resources }: ReturnType<typeof statementOf>) =>
        actions.includes(`iot:${action}`) &&
        resources.some((resource) => {
          const allowed = resource.split(`000000000000:${kind}/`)[1]?.replaceAll(thingVariable, me);
          return allowed !== undefined && covers(allowed, name);
        }),
    );
  }

  function covers(pattern: string, name: string): boolean {
    return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
  }

  const other = thingName(stage, 'cmp2.cloud.test');
  const topics = [me, other, thingName('prod', 'cmp1.cloud.test'), `${me}x`, '+', '#'].flatMap(
    (thing) => [
      inventoryTopic(stage, thing),
      inventoryTopic('prod', thing),
      `${stage}/hosts/${thing}/inventory`,
      `${stage}/hosts/${thing}/inventory/more`,
      `prod/hosts/${thing}/inventory`,
      `$aws/rules/${ruleName(stage, 'host_connected')}/${stage}/hosts/${thing}/inventory`,
      workTopic(stage, thing),
      workEndTopic(stage, thing),
      workEndTopic('prod', thing),
      certificateRequestTopic(stage, thing),
      certificateRequestTopic('prod', thing),
      certificateTopic(stage, thing),
      certificateTopic('prod', thing),
      `$aws/things/${thing}/jobs/get`,
      `$aws/things/${thing}/jobs/job-1/update`,
      `$aws/things/${thing}/jobs`,
      `$aws/things/${thing}/shadow/update`,
      `$aws/events/presence/connected/${thing}`,
      `$aws/events/presence/disconnected/${thing}`,
    ],
  );

  it('lets a host publish to its own topics only, as on one machine', () => {
    for (const topic of topics) {
      expect(may('Publish', 'topic', topic), topic).toBe(mayPublish(stage, me, topic));
    }
    expect(topics.filter((topic) => may('Publish', 'topic', topic))).toEqual([
      inventoryTopic(stage, me),
      `${stage}/hosts/${me}/inventory`,
      workEndTopic(stage, me),
      certificateRequestTopic(stage, me),
      `$aws/things/${me}/jobs/get`,
      `$aws/things/${me}/jobs/job-1/update`,
    ]);
  });

  it('lets a host receive its own jobs and messages only, as on one machine', () => {
    for (const filter of [...topics, '#', '$aws/#', `$aws/things/${me}/#`]) {
      expect(may('Subscribe', 'topicfilter', filter), filter).toBe(maySubscribe(stage, me, filter));
      const own = [workTopic(stage, me), certificateTopic(stage, me)];
      const isOwn = own.includes(filter) || filter.includes(`/${me}/jobs/`);
      expect(may('Receive', 'topic', filter), filter).toBe(isOwn);
    }
  });

  it('fits into what AWS IoT takes, for the longest stage and account', () => {
    const text = JSON.stringify(policy?.properties.PolicyDocument).replaceAll(/\s/g, '');
    const longer = 'us-gov-northeast-1'.length - 'us-east-1'.length + 'aws-us-gov'.length - 3;
    const arns = text.split('arn:aws:').length - 1;
    const names = text.split(stage).length - 1;
    const most = text.length + arns * longer + names * (15 - stage.length);
    expect(most).toBeLessThan(2048 + 1);
  });

  it('lets a host connect as itself only, with a certificate that is attached to it', () => {
    expect([me, other, '*'].map((client) => may('Connect', 'client', client))).toEqual([
      true,
      false,
      false,
    ]);
    const connect = statements.find(({ Action }: { Action: string }) => Action === 'iot:Connect');
    expect(connect.Condition).toEqual({ Bool: { 'iot:Connection.Thing.IsAttached': 'true' } });
  });
});
