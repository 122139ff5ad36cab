import { describe, expect, it } from 'vitest';
import { expose } from '#core/contracts/exposition.ts';
import type { MetricFamily } from '#core/shapes/fleet.ts';

const families = {
  cyborg_things: { type: 'gauge', labels: ['name'], help: 'Things\nwith a \\.' },
  cyborg_acts: { type: 'counter', labels: [], help: 'Acts.' },
  cyborg_act_seconds: { type: 'histogram', labels: ['le'], help: 'How long.' },
} as const satisfies Readonly<Record<string, MetricFamily>>;

const samples = [
  { metric: 'cyborg_things', labels: ['a"} 9\ncyborg_things{name="b\\'], value: 1 },
  { metric: 'cyborg_acts', labels: [], value: 3 },
  { metric: 'cyborg_act_seconds', labels: ['1'], value: 2 },
  { metric: 'cyborg_act_seconds', labels: ['+Inf'], value: 4 },
  { metric: 'cyborg_act_seconds', labels: ['sum'], value: 7.5 },
];

describe('the text of metrics', () => {
  it('is OpenMetrics by default, and escapes what an owner names', () => {
    expect(expose(families, samples)).toEqual({
      contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
      text: [
        '# HELP cyborg_things Things\\nwith a \\\\.',
        '# TYPE cyborg_things gauge',
        'cyborg_things{name="a\\"} 9\\ncyborg_things{name=\\"b\\\\"} 1',
        '# HELP cyborg_acts Acts.',
        '# TYPE cyborg_acts counter',
        'cyborg_acts_total 3',
        '# HELP cyborg_act_seconds How long.',
        '# TYPE cyborg_act_seconds histogram',
        'cyborg_act_seconds_bucket{le="1"} 2',
        'cyborg_act_seconds_bucket{le="+Inf"} 4',
        'cyborg_act_seconds_count 4',
        'cyborg_act_seconds_sum 7.5',
        '# EOF',
        '',
      ].join('\n'),
    });
  });

  it("is Prometheus' own format for a reader that takes no other", () => {
    const { contentType, text } = expose(families, samples, 'text/plain;version=0.0.4');
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE cyborg_acts_total counter\ncyborg_acts_total 3\n');
    expect(text).not.toContain('# EOF');
  });

  it('is OpenMetrics for a Prometheus, which takes both', () => {
    const accept =
      'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2';
    expect(expose(families, samples, accept).contentType).toContain('openmetrics');
  });
});
