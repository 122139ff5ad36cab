import type { FixedCosts } from './bill.ts';

interface Resource {
  readonly Type: string;
  readonly Properties?: { readonly Metrics?: readonly { readonly MetricStat?: unknown }[] };
}

/** The resources of a template that are paid per month. */
export function fixedCostsOf(resources: readonly Resource[]): FixedCosts {
  const ofType = (type: string) => resources.filter(({ Type }) => Type === type);
  return {
    watched: ofType('AWS::CloudWatch::Alarm').reduce(
      (count, { Properties: { Metrics } = {} }) =>
        count + (Metrics ? Metrics.filter(({ MetricStat }) => MetricStat).length : 1),
      0,
    ),
    filters: ofType('AWS::Logs::MetricFilter').length,
    dashboards: ofType('AWS::CloudWatch::Dashboard').length,
  };
}
