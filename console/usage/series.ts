// The usage by day, in series for a chart: one for each project or class, the largest first.

import type { UsageRow } from '#console/api/answers.ts';
import { dayMs } from '#console/parts/time/time-text.ts';

export type Grouping = 'project' | 'class';

interface Series {
  readonly name: string;
  /** Accelerator-hours of each day, in the order of the days. */
  readonly hours: readonly number[];
  readonly total: number;
}

export interface UsageChart {
  readonly days: readonly string[];
  readonly series: readonly Series[];
}

/** Distinguishable colours. The rest is one series. */
export const seriesMax = 7;
export const otherSeries = 'others';

const secondsOfHour = 3600;

/** @param range ISO 8601; the end does not belong to it */
export function usageChart(
  rows: readonly UsageRow[],
  by: Grouping,
  range: { readonly from: string; readonly to: string },
): UsageChart {
  const days = listDays(range);
  const places = new Map(days.map((day, index) => [day, index]));
  const hours = new Map<string, number[]>();
  for (const row of rows) {
    const name = by === 'project' ? row.project_id : row.resource_class;
    const hoursOfDays = hours.get(name) ?? days.map(() => 0);
    hours.set(name, hoursOfDays);
    const place = places.get(row.day);
    if (place === undefined) continue;
    hoursOfDays[place] = (hoursOfDays[place] ?? 0) + row.accelerator_seconds / secondsOfHour;
  }
  const series = [...hours]
    .map(([name, each]) => ({ name, hours: each, total: sum(each) }))
    .sort((one, other) => other.total - one.total || one.name.localeCompare(other.name));
  if (series.length <= seriesMax) return { days, series };
  const rest = series.slice(seriesMax - 1);
  const sums = days.map((_, index) => sum(rest.map((each) => each.hours[index] ?? 0)));
  return {
    days,
    series: [
      ...series.slice(0, seriesMax - 1),
      { name: otherSeries, hours: sums, total: sum(sums) },
    ],
  };
}

function listDays({ from, to }: { readonly from: string; readonly to: string }): string[] {
  const first = Date.parse(`${from.slice(0, 10)}T00:00:00Z`);
  const days: string[] = [];
  for (let at = first; at < Date.parse(to); at += dayMs) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

function sum(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The next number of the form 1, 2 or 5 times a power of ten. */
export function niceEnd(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 5, 10].find((each) => each * power >= most) ?? 10;
  return factor * power;
}
