import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { stage, synthesize } from './synthesized.ts';

const stack = synthesize();
const alarms = stack.ofType('AWS::CloudWatch::Alarm').map(({ properties }) => properties);
const names = alarms.map(({ AlarmName }) => AlarmName.slice(`${stage}-`.length));

it('watch every dead-letter queue', () => {
  const dead = stack
    .ofType('AWS::SQS::Queue')
    .map(({ properties }) => properties.QueueName)
    .filter((name) => name.endsWith('-dead'));
  const watched = alarms.flatMap(({ MetricName, Dimensions }) =>
    MetricName === 'ApproximateNumberOfMessagesVisible' ? [Dimensions[0].Value] : [],
  );
  expect(watched).toHaveLength(dead.length);
  const named = (id: string) => dead.find((name) => id.includes(name));
  expect(alarms.flatMap(({ AlarmName }) => named(AlarmName) ?? []).sort()).toEqual(dead.sort());
});

it('have an entry each in the operator’s handbook, which has no other', () => {
  const handbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const entries = [...handbook.matchAll(/^### `(.+)`$/gm)].map(([, name]) => name);
  expect(entries.sort()).toEqual([...names].sort());
});

it('stay silent while nothing happens', () => {
  for (const alarm of alarms) expect(alarm.TreatMissingData).toBe('notBreaching');
});
