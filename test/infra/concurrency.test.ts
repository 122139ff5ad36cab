import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { shifted } from '#infra/access.ts';
import { contextOfProject, stage, synthesize } from '#infra/privileges/synthesized.ts';
import { DeploymentInvalid, readSettings } from '#infra/settings/settings.ts';

const reserved = {
  'accelerator-requests': 400,
  'device-profiles': 100,
  changes: 40,
  sweep: 2,
  'nova-events': 20,
};

/** Reserved concurrency of this stack's functions, by name without the stage. */
function reservationsIn(context: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    synthesize(context)
      .ofType('AWS::Lambda::Function')
      .filter(({ properties }) => properties.ReservedConcurrentExecutions !== undefined)
      .map(({ properties }) => [
        properties.FunctionName.slice(`${stage}-`.length),
        properties.ReservedConcurrentExecutions,
      ]),
  );
}

function read(context: Readonly<Record<string, unknown>>) {
  return readSettings(new App({ context: { ...contextOfProject(), ...context } }).node);
}

describe('reserved concurrency', () => {
  it('is given to no function without a setting', () => {
    expect(reservationsIn({})).toEqual({});
  });

  it('is given to each function that the setting names, as JSON or as text', () => {
    expect(reservationsIn({ reservedConcurrency: reserved })).toEqual(reserved);
    expect(reservationsIn({ reservedConcurrency: JSON.stringify(reserved) })).toEqual(reserved);
  });

  it('is watched by the alarm of throttled functions', () => {
    const watched = synthesize({ reservedConcurrency: reserved })
      .ofType('AWS::CloudWatch::Alarm')
      .find(({ properties }) => properties.AlarmName === `${stage}-functions-throttled`)
      ?.properties.Metrics.flatMap(
        (part: { MetricStat?: { Metric: { Dimensions: { Value: string }[] } } }) =>
          part.MetricStat?.Metric.Dimensions[0]?.Value ?? [],
      );
    expect(watched.sort()).toEqual(
      Object.keys(reserved)
        .map((name) => `${stage}-${name}`)
        .sort(),
    );
  });

  it('has the form of docs/deploy.md', () => {
    const guide = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8');
    const [, shown = ''] = /```json\n("reservedConcurrency": [^`]*)```/.exec(guide) ?? [];
    const context = JSON.parse(`{${shown}}`);
    expect(read(context).reservedConcurrency).toEqual(context.reservedConcurrency);
  });

  it('may take all of the quota but the part that Lambda keeps for other functions', () => {
    const most = { reservedConcurrency: { changes: 900 } };
    expect(read(most).reservedConcurrency).toEqual({ changes: 900 });
    const more = { reservedConcurrency: { changes: 2900 }, concurrencyQuota: 3000 };
    expect(read(more).reservedConcurrency).toEqual({ changes: 2900 });
  });

  it.each([
    ['not a JSON object', 'many'],
    ['not a JSON object', [20]],
    ['unknown function change; the functions are .*changes', { change: 20 }],
    ['changes must be an integer from 1', { changes: 0 }],
    ['sweep must be an integer from 1', { sweep: 'two' }],
    ['nova-events must be at least 20', { 'nova-events': 19 }],
    ['901 reserved or provisioned of 1000 executions', { changes: 500, sweep: 401 }],
  ])('is refused where %s', (fault, reservedConcurrency) => {
    const refused = () => read({ reservedConcurrency });
    expect(refused).toThrow(DeploymentInvalid);
    expect(refused).toThrow(new RegExp(`reservedConcurrency: .*${fault}.*cdk\\.json`));
  });

  it('is checked against the quota of the account', () => {
    const refused = () => read({ reservedConcurrency: { changes: 20 }, concurrencyQuota: 100 });
    expect(refused).toThrow('20 reserved or provisioned of 100 executions (concurrencyQuota)');
  });
});

describe('provisioned concurrency', () => {
  const aliases = (context: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      synthesize(context)
        .ofType('AWS::Lambda::Alias')
        .map(({ properties }) => [
          properties.FunctionName.replace(`${stage}-`, ''),
          properties.ProvisionedConcurrencyConfig?.ProvisionedConcurrentExecutions,
        ]),
    );

  it('has the functions that the setting names, and no other', () => {
    const none = Object.fromEntries(shifted.map((name) => [name, undefined]));
    expect(aliases({})).toEqual(none);
    const provisionedConcurrency = { 'accelerator-requests': 5 };
    expect(aliases({ provisionedConcurrency })).toEqual({ ...none, 'accelerator-requests': 5 });
  });

  it.each([
    ['unknown function sweep; the functions are accelerator-requests, .*', { sweep: 1 }, {}],
    ['changes must be an integer from 1', { changes: 0.5 }, {}],
    ['changes has 30, and 20 in reservedConcurrency', { changes: 30 }, { changes: 20 }],
  ])('is refused where %s', (fault, provisionedConcurrency, reservedConcurrency) => {
    const refused = () => read({ provisionedConcurrency, reservedConcurrency });
    expect(refused).toThrow(new RegExp(`provisionedConcurrency: .*${fault}`));
  });

  const hours = 'MON-FRI 07:00-19:30 Europe/Berlin';

  it('changes by hours of the week, in a time zone', () => {
    const stack = synthesize({
      provisionedConcurrency: { 'accelerator-requests': { min: 0, max: 20, hours } },
    });
    const [target, ...others] = stack.ofType('AWS::ApplicationAutoScaling::ScalableTarget');
    expect(others).toEqual([]);
    expect(target?.properties).toMatchObject({
      MinCapacity: 0,
      MaxCapacity: 20,
      ResourceId: expect.stringMatching(/^function:.*:live$/),
      ScalableDimension: 'lambda:function:ProvisionedConcurrency',
      ScheduledActions: [
        {
          Schedule: 'cron(0 7 ? * MON-FRI *)',
          Timezone: 'Europe/Berlin',
          ScalableTargetAction: { MinCapacity: 20, MaxCapacity: 20 },
        },
        {
          Schedule: 'cron(30 19 ? * MON-FRI *)',
          Timezone: 'Europe/Berlin',
          ScalableTargetAction: { MinCapacity: 0, MaxCapacity: 0 },
        },
      ],
    });
    expect(stack.ofType('AWS::ApplicationAutoScaling::ScalingPolicy')).toEqual([]);
  });

  it('takes one day, and every day', () => {
    for (const days of ['SAT', 'SUN-SAT']) {
      const changes = { min: 0, max: 2, hours: `${days} 00:00-23:59 Asia/Kolkata` };
      const provisionedConcurrency = { changes };
      expect(read({ provisionedConcurrency }).provisionedConcurrency).toEqual({ changes });
    }
  });

  it('has no number in the alias that an update could bring back within the hours', () => {
    const provisionedConcurrency = { 'accelerator-requests': { min: 1, max: 20, hours } };
    expect(aliases({ provisionedConcurrency })['accelerator-requests']).toBeUndefined();
  });

  it('follows the use of the executions, from the least on', () => {
    const provisionedConcurrency = { 'device-profiles': { min: 2, max: 50, utilization: 70 } };
    const stack = synthesize({ provisionedConcurrency });
    const [target] = stack.ofType('AWS::ApplicationAutoScaling::ScalableTarget');
    expect(target?.properties).toMatchObject({ MinCapacity: 2, MaxCapacity: 50 });
    const [policy] = stack.ofType('AWS::ApplicationAutoScaling::ScalingPolicy');
    expect(policy?.properties).toMatchObject({
      PolicyType: 'TargetTrackingScaling',
      ScalingTargetId: target?.id,
      TargetTrackingScalingPolicyConfiguration: {
        PredefinedMetricSpecification: {
          PredefinedMetricType: 'LambdaProvisionedConcurrencyUtilization',
        },
        TargetValue: 0.7,
      },
    });
    expect(aliases({ provisionedConcurrency })['device-profiles']).toBe(2);
  });

  it.each([
    { min: 1, max: 20 },
    { min: 20, max: 20, hours },
    { min: 1, max: 20, hours, utilization: 70 },
    { min: 0, max: 20, utilization: 70 },
    { min: 1, max: 20, utilization: 0.7 },
    { min: 1, max: 20, utilization: 95 },
    { min: 1, max: 20, hours: '07:00-19:00 Europe/Berlin' },
    { min: 1, max: 20, hours: 'MON-FRI 22:00-06:00 Europe/Berlin' },
    { min: 1, max: 20, hours: 'MON-FRI 07:00-24:00 Europe/Berlin' },
    { min: 1, max: 20, hours: 'MON-FRI 07:00-19:00 Europe/Nowhere' },
    { min: 1, max: 20, hours: 'MON-FRI 07:00-19:00 +02:00' },
    { min: 1, max: 20, hours: 'MO-FR 07:00-19:00 Europe/Berlin' },
    { min: 1, max: 20, hours: 'MON-SUN 07:00-19:00 Europe/Berlin' },
  ])('is refused as %o', (changes) => {
    expect(() => read({ provisionedConcurrency: { changes } })).toThrow(
      /provisionedConcurrency: changes must be an integer from 1, or .*"hours"/,
    );
  });

  it('has the form of docs/deploy.md', () => {
    const guide = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8');
    const [, shown = ''] = /```json\n("provisionedConcurrency": [^`]*)```/.exec(guide) ?? [];
    const context = JSON.parse(`{${shown}}`);
    expect(read(context).provisionedConcurrency).toEqual(context.provisionedConcurrency);
  });

  it('counts by the most that it may be', () => {
    const provisionedConcurrency = { changes: { min: 1, max: 30, hours } };
    expect(() => read({ provisionedConcurrency, reservedConcurrency: { changes: 20 } })).toThrow(
      'changes has 30, and 20 in reservedConcurrency',
    );
    expect(() => read({ provisionedConcurrency, concurrencyQuota: 129 })).toThrow(
      '30 reserved or provisioned of 129 executions',
    );
  });

  it('is part of what the quota must have, once', () => {
    const provisionedConcurrency = { changes: 300, announcements: 300 };
    const both = { provisionedConcurrency, reservedConcurrency: { changes: 500 } };
    expect(read(both).provisionedConcurrency).toEqual(provisionedConcurrency);
    expect(() => read({ ...both, concurrencyQuota: 899 })).toThrow(
      '800 reserved or provisioned of 899 executions',
    );
  });
});
