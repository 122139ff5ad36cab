import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type MetricRow, metrics } from '#core/contracts/metrics.ts';
import { type AlarmName, alarmEntries } from '#infra/monitoring/alarm-entries.ts';
import { stage, synthesize, withDomain } from '#infra/privileges/synthesized.ts';
import { runbooks } from './runbooks.ts';

const stack = synthesize(withDomain);
const alarms = stack.ofType('AWS::CloudWatch::Alarm').map(({ properties }) => properties);
const names = alarms.map(({ AlarmName }) => AlarmName.slice(`${stage}-`.length));

it('watch every dead-letter queue', () => {
  const dead = stack
    .ofType('AWS::SQS::Queue')
    .map(({ properties }) => properties.QueueName)
    .filter((name) => name.endsWith('-dead'));
  const watched = alarms.flatMap(({ AlarmName, MetricName, Dimensions }) => {
    if (MetricName !== 'ApproximateNumberOfMessagesVisible') return [];
    expect(Dimensions[0].Value).toBe(AlarmName);
    return [AlarmName];
  });
  expect(watched.sort()).toEqual(dead.sort());
});

it('have an entry each in the runbooks, which have no other and are listed', () => {
  const index = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const namesIn = (text: string) =>
    [...text.matchAll(/^##+ \[?`([^`]+)`(?:\]\(.+\))?$/gm)].map(([, name]) => name).sort();
  expect(namesIn(runbooks)).toEqual([...names].sort());
  expect(namesIn(index)).toEqual([...names].sort());
});

it('have runbooks that can be read in an alarm: each has 1,500 words at most', () => {
  const folder = new URL('../../docs/operations/', import.meta.url);
  const wordsOf = (name: string) => readFileSync(new URL(name, folder), 'utf8').split(/\s+/).length;
  expect(readdirSync(folder).filter((name) => wordsOf(name) > 1500)).toEqual([]);
});

it('stay silent without data, or as they are where a measurement of the fleet counts', () => {
  const isMeasured = ({ MetricName }: { MetricName: string }) =>
    ['Hosts', 'Handles'].includes(MetricName);
  for (const alarm of alarms) {
    const treated = metricsOf(alarm).some(isMeasured) ? 'ignore' : 'notBreaching';
    expect(alarm.TreatMissingData).toBe(treated);
  }
});

it('watch existing functions, queues, tables and the API', () => {
  const there = new Set([
    ...stack.ofType('AWS::Lambda::Function').map(({ properties }) => properties.FunctionName),
    ...stack.ofType('AWS::SQS::Queue').map(({ properties }) => properties.QueueName),
    ...stack.ofType('AWS::DynamoDB::GlobalTable').map(({ properties }) => properties.TableName),
    ...stack.ofType('AWS::ApiGatewayV2::Api').map(({ id }) => id),
  ]);
  const watched = alarms
    .flatMap(metricsOf)
    .filter(({ Namespace }) => !['Cyborg', 'Cyborg/Api'].includes(Namespace))
    .filter(({ MetricName }) => MetricName !== 'DaysToExpiry');
  expect(watched.length).toBeGreaterThan(20);
  for (const { Dimensions } of watched) expect(there).toContain(Dimensions[0].Value);
});

it('watch our metrics, by values that exist', () => {
  const ours = alarms.flatMap(metricsOf).filter(({ Namespace }) => Namespace === 'Cyborg');
  expect(ours.length).toBeGreaterThan(10);
  for (const { MetricName, Dimensions } of ours) {
    const row: MetricRow | undefined = metrics.find(({ name }) => name === MetricName);
    const values = Object.fromEntries(
      Dimensions.map(({ Name, Value }: { Name: string; Value: string }) => [Name, Value]),
    );
    const { service, stage: of, ...own } = values;
    expect([service, of]).toEqual(['cyborg', stage]);
    expect(Object.keys(own)).toEqual(row?.dimension ? [row.dimension.name] : []);
    for (const value of Object.values(own)) expect(row?.dimension?.values).toContain(value);
  }
});

it('cost less than the limit', () => {
  // $0.10 each a month, and ten of them are free.
  expect(alarms.flatMap(metricsOf).length).toBeLessThanOrEqual(50);
});

describe('the recipient of alarms', () => {
  const actionsIn = (context: Readonly<Record<string, string>>) => {
    const made = synthesize(context);
    const actions = made
      .ofType('AWS::CloudWatch::Alarm')
      .map(({ properties }) => [properties.AlarmActions ?? [], properties.OKActions ?? []].flat());
    return { made, actions };
  };

  it('is empty without a setting', () => {
    const { made, actions } = actionsIn({});
    expect(actions.flat()).toEqual([]);
    expect(made.ofType('AWS::SNS::Topic')).toEqual([]);
  });

  it("is the operator's topic, of each change of state", () => {
    const alarmTopicArn = 'arn:aws:sns:us-east-1:111122223333:pager';
    const { made, actions } = actionsIn({ alarmTopicArn });
    for (const each of actions) expect(each).toEqual([alarmTopicArn, alarmTopicArn]);
    expect(made.ofType('AWS::SNS::Topic')).toEqual([]);
  });

  it('gets only the alarms of the severity page, if that is set', () => {
    const alarmTopicArn = 'arn:aws:sns:us-east-1:111122223333:pager';
    const sent = synthesize({ alarmTopicArn, alarmActions: 'page' })
      .ofType('AWS::CloudWatch::Alarm')
      .map(({ properties: { AlarmName, AlarmActions = [], OKActions = [] } }) => {
        return [AlarmName.slice(`${stage}-`.length), [AlarmActions, OKActions].flat()] as const;
      });
    for (const [name, actions] of sent) {
      const isPage = alarmEntries[name as AlarmName].severity === 'page';
      expect(actions, name).toEqual(isPage ? [alarmTopicArn, alarmTopicArn] : []);
    }
    expect(new Set(sent.map(([, { length }]) => length))).toEqual(new Set([0, 2]));
  });

  it('gets mail from a topic of the stage, encrypted by a key that alarms may use', () => {
    const { made, actions } = actionsIn({ alarmEmail: 'operators@example.org' });
    const [topic] = made.ofType('AWS::SNS::Topic');
    expect(topic?.properties).toMatchObject({ TopicName: `${stage}-cyborg-alarms` });
    for (const each of actions) expect(each).toEqual([topic?.id, topic?.id]);
    expect(made.ofType('AWS::SNS::Subscription')[0]?.properties).toMatchObject({
      Protocol: 'email',
      Endpoint: 'operators@example.org',
    });
    const [key] = made.ofType('AWS::KMS::Key');
    expect(topic?.properties.KmsMasterKeyId).toContain(key?.id);
    const statements = key?.properties.KeyPolicy.Statement as Record<string, unknown>[];
    expect(statements.map(({ Principal }) => Principal)).toContainEqual({
      Service: 'cloudwatch.amazonaws.com',
    });
  });
});

/** Metrics of an alarm: its own, or those that it computes with. */
function metricsOf(alarm: (typeof alarms)[number]): (typeof alarms)[number][] {
  if (!alarm.Metrics) return [alarm];
  return alarm.Metrics.flatMap((part: (typeof alarms)[number]) => part.MetricStat?.Metric ?? []);
}
