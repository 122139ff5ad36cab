// The numbers of the overview, from the answers of the API.

import type { Binds, FleetReport, Host, OperatorProfile, Usage } from '#console/api/answers.ts';
import type { CapacitySum } from '#console/capacity/capacity-sum.ts';
import type { UsageChart } from '#console/usage/series.ts';

/** The resource classes that profiles ask for. */
export function classesOf(profiles: readonly Pick<OperatorProfile, 'groups'>[]): string[] {
  const keys = profiles.flatMap(({ groups }) => groups.flatMap((group) => Object.keys(group)));
  const classes = keys.flatMap((key) => key.match(/^resources:(.+)$/)?.[1] ?? []);
  return [...new Set(classes)].sort();
}

/** Attach handles of one class, or of several. */
export interface Use {
  readonly inUse: number;
  readonly free: number;
  readonly outOfService: number;
  readonly all: number;
}

/** @param sum of a profile that asks for one accelerator of the class */
export function useOf({ fits: free, stoppedBy }: CapacitySum): Use {
  const stopped = stoppedBy.reduce((sum, { count }) => sum + count, 0);
  const inUse = stoppedBy.find(({ reason }) => reason === 'claimed')?.count ?? 0;
  return { inUse, free, outOfService: stopped - inUse, all: free + stopped };
}

export function totalOf(uses: readonly Use[]): Use {
  const sum = (each: keyof Use) => uses.reduce((total, use) => total + use[each], 0);
  return {
    inUse: sum('inUse'),
    free: sum('free'),
    outOfService: sum('outOfService'),
    all: sum('all'),
  };
}

/** Why handles are out of service, the most frequent reason first. */
export function reasonsOf(sums: readonly CapacitySum[]): CapacitySum['stoppedBy'] {
  const counts = new Map<CapacitySum['stoppedBy'][number]['reason'], number>();
  for (const { reason, count } of sums.flatMap(({ stoppedBy }) => stoppedBy)) {
    if (reason !== 'claimed') counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .sort((one, other) => other.count - one.count);
}

export function hostsByState(hosts: readonly Host[]): ReadonlyMap<Host['state'], number> {
  const counts = new Map<Host['state'], number>();
  for (const { state } of hosts) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

interface ProjectUse {
  readonly projectId: string;
  /** Accelerators, as an average of the time that the answer covers. */
  readonly accelerators: number;
}

/** The project with the most accelerators first. */
export function useByProject({ from, to, usage }: Usage): ProjectUse[] {
  const seconds = Math.max(1, (Date.parse(to) - Date.parse(from)) / 1000);
  const sums = new Map<string, number>();
  for (const { project_id, accelerator_seconds } of usage) {
    sums.set(project_id, (sums.get(project_id) ?? 0) + accelerator_seconds);
  }
  return [...sums]
    .map(([projectId, sum]) => ({ projectId, accelerators: sum / seconds }))
    .sort((one, other) => other.accelerators - one.accelerators);
}

export const hourMs = 3_600_000;
const hoursShown = 24;

/** The first of the hours that are shown: the last one has not ended. */
export function dayBefore(nowMs: number): string {
  return new Date((Math.floor(nowMs / hourMs) - hoursShown + 1) * hourMs).toISOString();
}

/** @param from as {@link dayBefore} gives it */
export function bindsByHour(binds: Binds['binds'], from: string): UsageChart {
  const byHour = new Map(binds.map((each) => [each.hour, each]));
  const hours = Array.from({ length: hoursShown }, (_, place) =>
    new Date(Date.parse(from) + place * hourMs).toISOString(),
  );
  const series = (['bound', 'failed'] as const).map((name) => {
    const counts = hours.map((hour) => byHour.get(hour)?.[name] ?? 0);
    return { name, hours: counts, total: counts.reduce((sum, count) => sum + count, 0) };
  });
  return { days: hours.map((hour) => hour.slice(0, 16).replace('T', ' ')), series };
}

/** Means of the days that were measured. */
export interface ModelDays {
  readonly model: string;
  readonly devices: number;
  readonly healthy: number;
  readonly handles: number;
  readonly reserved: number;
  readonly inUse: number;
}

/** Each model once, the one with the most handles first. */
export function modelsOf(report: FleetReport['report']): ModelDays[] {
  const ofAll = report.filter(({ project_id }) => project_id === null);
  const days = new Set(ofAll.map(({ day }) => day)).size;
  const models = [...Map.groupBy(ofAll, ({ model }) => model)].map(([model, rows]) => {
    const mean = (field: 'devices' | 'healthy' | 'handles' | 'reserved' | 'in_use') =>
      Math.round((rows.reduce((sum, row) => sum + (row[field] ?? 0), 0) / days) * 10) / 10;
    return {
      model,
      devices: mean('devices'),
      healthy: mean('healthy'),
      handles: mean('handles'),
      reserved: mean('reserved'),
      inUse: mean('in_use'),
    };
  });
  return models.sort((one, other) => other.handles - one.handles);
}
