import { describe, expect, it } from 'vitest';
import { metrics } from '#core/contracts/metrics.ts';
import { queues } from '#core/contracts/queues/queues.ts';
import { access } from '#infra/access.ts';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';

const stack = synthesize();
const [dashboard] = stack.ofType('AWS::CloudWatch::Dashboard');

interface Widget {
  readonly type: string;
  readonly y: number;
  readonly properties: {
    readonly title?: string;
    readonly markdown?: string;
    readonly alarms?: readonly string[];
    readonly metrics?: readonly unknown[][];
  };
}

const { widgets } = JSON.parse(dashboard?.properties.DashboardBody) as { widgets: Widget[] };
const graphs = widgets.filter(({ type }) => type === 'metric');
const titled = (title: string) =>
  JSON.stringify(graphs.find((each) => each.properties.title === title));

describe('the dashboard', () => {
  it('has the name of the stage', () => {
    expect(dashboard?.properties.DashboardName).toBe(`${stage}-cyborg`);
  });

  it('starts with the state of every alarm', () => {
    const [first] = widgets;
    expect(first?.type).toBe('alarm');
    expect(first?.properties.alarms).toHaveLength(stack.ofType('AWS::CloudWatch::Alarm').length);
  });

  it('has one row for each flow, with its question', () => {
    const questions = widgets.flatMap(({ properties }) => properties.markdown ?? []);
    expect(questions.length).toBeGreaterThan(4);
    for (const question of questions) expect(question).toMatch(/^## .+\?$/);
    expect(new Set(graphs.map(({ y }) => y)).size).toBe(questions.length);
  });

  it('shows each metric of ours', () => {
    const shown = JSON.stringify(graphs);
    for (const { name } of metrics) expect(shown).toContain(`"Cyborg","${name}"`);
  });

  it('shows errors and throttles of each function, and the oldest message of each queue', () => {
    const errors = titled('Errors of functions') + titled('Errors');
    const throttles = titled('Throttled functions') + titled('Throttled');
    for (const name of Object.keys(access)) {
      expect(errors).toContain(`"${stage}-${name}"`);
      expect(throttles).toContain(`"${stage}-${name}"`);
    }
    for (const { name } of queues)
      expect(titled('Oldest message, s')).toContain(`"${stage}-${name}"`);
  });

  it('shows the messages in each dead-letter queue, and the age of the oldest', () => {
    const dead = stack
      .ofType('AWS::SQS::Queue')
      .map(({ properties }) => properties.QueueName)
      .filter((name) => name.endsWith('-dead'));
    expect(dead.length).toBeGreaterThan(queues.length);
    for (const name of dead) {
      const of = (metric: string) => `"${metric}","QueueName","${name}"`;
      expect(titled('Dead letters')).toContain(of('ApproximateNumberOfMessagesVisible'));
      expect(titled('Oldest dead letter, s')).toContain(of('ApproximateAgeOfOldestMessage'));
    }
  });

  it("shows bind latency and the API's at the median and the worst", () => {
    for (const title of ['Bind latency where the host works, ms', 'Latency, ms']) {
      expect(titled(title)).toContain('p50');
      expect(titled(title)).toContain('p99');
    }
  });
});
