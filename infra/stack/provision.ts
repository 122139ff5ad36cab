// Application Auto Scaling changes the provisioned concurrency of an alias, by hours or by use.

import { TimeZone } from 'aws-cdk-lib';
import { Schedule } from 'aws-cdk-lib/aws-applicationautoscaling';
import type { Alias, AliasProps } from 'aws-cdk-lib/aws-lambda';
import { type Provisioned, parseHours } from '#infra/settings/provisioned.ts';

/**
 * What the alias has from its creation on. With hours the alias has no number of its own: an
 * update of the alias could bring it back in the middle of them.
 */
export function provisionedFromStart(
  provisioned: Provisioned | undefined,
): Pick<AliasProps, 'provisionedConcurrentExecutions'> {
  if (provisioned === undefined) return {};
  if (typeof provisioned === 'number') return { provisionedConcurrentExecutions: provisioned };
  return 'hours' in provisioned ? {} : { provisionedConcurrentExecutions: provisioned.min };
}

export function scaleProvisioned(alias: Alias, provisioned: Provisioned | undefined): void {
  if (provisioned === undefined || typeof provisioned === 'number') return;
  const { min, max } = provisioned;
  const scaling = alias.addAutoScaling({ minCapacity: min, maxCapacity: max });
  if ('utilization' in provisioned) {
    scaling.scaleOnUtilization({ utilizationTarget: provisioned.utilization / 100 });
    return;
  }
  const hours = parseHours(provisioned.hours);
  if (!hours) throw new TypeError(`Not hours: ${provisioned.hours}`);
  const timeZone = TimeZone.of(hours.timeZone);
  const at = ([hour, minute]: readonly [string, string]) =>
    Schedule.cron({ weekDay: hours.days, hour: `${+hour}`, minute: `${+minute}` });
  const exactly = (executions: number) => ({ minCapacity: executions, maxCapacity: executions });
  scaling.scaleOnSchedule('Begin', { schedule: at(hours.from), timeZone, ...exactly(max) });
  scaling.scaleOnSchedule('End', { schedule: at(hours.to), timeZone, ...exactly(min) });
}
