import { expect, it } from 'vitest';
import { inventoryTopic, thingName, workEndTopic, workTopic } from '#core/contracts/topics.ts';
import { mayPublish, maySubscribe } from '#local/aws/broker-policy.ts';
import { matches, rulesFor } from '#local/aws/iot-rules.ts';

it.each([
  ['a/b', 'a/b', true],
  ['a/+', 'a/b', true],
  ['a/+', 'a/b/c', false],
  ['a/+/c', 'a/b/c', true],
  ['a/#', 'a/b/c', true],
  ['a/b', 'a/b/c', false],
  ['a/b/c', 'a/b', false],
])('matches %s with %s: %s', (filter, topic, isMet) => {
  expect(matches(filter, topic)).toBe(isMet);
});

it('reads the host from the topic, with and without the rule in it', () => {
  for (const published of [inventoryTopic('dev', 'node-1'), 'dev/hosts/node-1/inventory']) {
    const { topic, rows } = rulesFor('dev', published);
    expect(topic).toBe('dev/hosts/node-1/inventory');
    expect(rows.map(({ queue }) => queue)).toEqual(['inventory-reports']);
  }
});

it('finds no rule for another stage', () => {
  expect(rulesFor('dev', 'prod/hosts/node-1/inventory').rows).toEqual([]);
  expect(rulesFor('dev', inventoryTopic('prod', 'node-1')).rows).toEqual([]);
});

it('lets a host publish to its own topics only', () => {
  const may = (topic: string) => mayPublish('dev', 'node-1', topic);
  expect(may(inventoryTopic('dev', 'node-1'))).toBe(true);
  expect(may('dev/hosts/node-1/inventory')).toBe(true);
  expect(may('$aws/things/node-1/jobs/1/update')).toBe(true);
  expect(may(workEndTopic('dev', 'node-1'))).toBe(true);

  expect(may(inventoryTopic('dev', 'node-2'))).toBe(false);
  expect(may(inventoryTopic('prod', 'node-1'))).toBe(false);
  expect(may(workEndTopic('dev', 'node-2'))).toBe(false);
  expect(may(workTopic('dev', 'node-1'))).toBe(false);
  expect(may('dev/hosts/node-1')).toBe(false);
  expect(may('$aws/rules/dev_host_connected/dev/hosts/node-1/inventory')).toBe(false);
  expect(may('$aws/things/node-10/jobs/1/update')).toBe(false);
  expect(may('$aws/events/presence/connected/node-1')).toBe(false);
});

it('lets a host subscribe to its own jobs and messages only', () => {
  expect(maySubscribe('dev', 'node-1', '$aws/things/node-1/jobs/notify-next')).toBe(true);
  expect(maySubscribe('dev', 'node-1', '$aws/things/node-1/jobs/+/get/accepted')).toBe(true);
  expect(maySubscribe('dev', 'node-1', workTopic('dev', 'node-1'))).toBe(true);
  for (const filter of ['#', '/things/+/jobs/notify', workTopic('dev', 'node-2')]) {
    expect(maySubscribe('dev', 'node-1', filter)).toBe(false);
  }
});

it('matches hosts and jobs of its own stage, not of others in the same account', () => {
  for (const stage of ['dev', 'dev-2', 'prod']) {
    const { rows } = rulesFor('dev', `$aws/events/presence/connected/${thingName(stage, 'cmp1')}`);
    expect(rows.map(({ name }) => name)).toEqual(stage === 'dev' ? ['host_connected'] : []);
  }
  expect(rulesFor('dev', '$aws/events/jobExecution/dev-bind-1/succeeded').rows).toHaveLength(1);
  expect(rulesFor('dev', '$aws/events/jobExecution/prod-bind-1/succeeded').rows).toEqual([]);
});
