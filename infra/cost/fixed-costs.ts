import { type FixedCosts, secondsPerMonth } from './bill.ts';
import { prices } from './prices.ts';

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

/** Dollars a month of an execution that is provisioned for these hours of each week. */
export function dollarsOfProvisioned(gigabytes: number, hours = 7 * 24): number {
  const seconds = (secondsPerMonth * hours) / (7 * 24);
  return seconds * gigabytes * prices.provisionedGigabyteSecond.dollars;
}
