import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { type HistoryPartition, partitionsOfKind } from '#core/domain/history/history.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HistoryPage, HistoryPart } from '#core/store/history/history.ts';
import { readDays, readTogether } from '#core/store/history/history-pages.ts';
import { isOperator } from '#functions/http/policy.ts';
import { listAction, type PageQuery } from '#functions/operator/list.ts';
import { dayMs, parseRange } from '#functions/operator/range.ts';
import { viewRecord } from './view-record.ts';

type Filter = PageQuery<'history'>;

const marker = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z#[0-9a-f-]{36}$/, 'must be a marker of a next link');

/** Without a subject each day is a read of its own. */
const daysAtOnce = 31;

/** The records of the history; a tenant sees those of its project. */
export const getHistory = listAction('history', { marker }, async ({ deps, caller, query }) => {
  const { records, next } = await read(deps, caller, query);
  return { rows: records.map(viewRecord), next };
});

async function read(deps: ConsumerDeps, caller: Caller, query: Filter): Promise<HistoryPart> {
  const ownProject = isOperator(deps, caller) ? undefined : caller.projectId;
  const { project = ownProject } = query;
  if (ownProject !== undefined && project !== ownProject) return { records: [] };
  const page = toPage(query, project);
  const partitions =
    ownProject === undefined
      ? await partitionsFor(deps, query)
      : await partitionsOfTenant(deps, ownProject, query);
  if (partitions) return readTogether(deps.history, partitions, page);
  const now = deps.clock();
  const to = query.to ?? new Date(now).toISOString();
  const from = query.from ?? new Date(Date.parse(to) - dayMs).toISOString();
  return readDays(deps.history, parseRange(from, to, daysAtOnce), page);
}

function toPage(query: Filter, project: string | undefined): HistoryPage {
  const { order, from, to, marker: after, limit } = query;
  const range = from && to ? parseRange(from, to, Number.POSITIVE_INFINITY) : undefined;
  const iso = (time: string | undefined) => time && new Date(time).toISOString();
  const filter = present({
    device_uuid: query.device,
    hostname: query.host,
    profile_name: query.profile,
    project_id: project,
    arq_uuid: query.arq,
    kind: query.kind,
    by: query.user && `user:${query.user}`,
  });
  const [start, end] = [range?.from ?? iso(from), range?.to ?? iso(to)];
  return { order, filter, limit, ...present({ from: start, to: end, after }) };
}

/** The partitions with the fewest other records; undefined if only a time is given. */
async function partitionsFor(
  deps: ConsumerDeps,
  { arq, instance, device, host, project, profile, kind }: Filter,
): Promise<readonly HistoryPartition[] | undefined> {
  if (arq !== undefined) return partitionsOfArq(deps, arq, project);
  if (instance !== undefined) return partitionsOfInstance(deps, instance, project);
  if (device !== undefined) {
    const key = await hostOfDevice(deps, device);
    return key === undefined ? [] : [{ subject: 'host', key }];
  }
  if (project !== undefined) return [{ subject: 'project', key: project }];
  if (host !== undefined) return [{ subject: 'host', key: host }];
  if (profile !== undefined) return [{ subject: 'profile', key: profile }];
  return kind && partitionsOfKind(kind);
}

/** Not the host's partition: records of other projects would lengthen an answer or cut it. */
async function partitionsOfTenant(
  deps: ConsumerDeps,
  project: string,
  { arq, instance }: Filter,
): Promise<readonly HistoryPartition[]> {
  if (arq !== undefined) return partitionsOfArq(deps, arq, project);
  if (instance !== undefined) return partitionsOfInstance(deps, instance, project);
  return [{ subject: 'project', key: project }];
}

/** ARQs of an instance that are read: each time it is unshelved or moved, it gets others. */
const arqsMax = 200;

/** Its releases name its instances, which have the claims; the last claim may last. */
async function partitionsOfArq(
  deps: ConsumerDeps,
  arq: string,
  project: string | undefined,
): Promise<HistoryPartition[]> {
  const partition = { subject: 'arq', key: arq } as const;
  const filter = present({ project_id: project });
  const [{ records }, arqs] = await Promise.all([
    deps.history.read(partition, { limit: arqsMax, order: 'newest-first', filter }),
    deps.store.arqs.byUuids([arq as ArqUuid]),
  ]);
  const live = arqs.get(arq as ArqUuid);
  const isShown = project === undefined || live?.projectId === project;
  const lasting = isShown ? live?.binding?.instanceUuid : undefined;
  const named = records.flatMap(({ instanceUuid }) => instanceUuid ?? []);
  const instances = new Set([...named, ...(lasting ? [lasting] : [])]);
  return [partition, ...[...instances].map((key) => ({ subject: 'instance', key }) as const)];
}

/** Its claims name its ARQs, which have the rest. */
async function partitionsOfInstance(
  deps: ConsumerDeps,
  instance: string,
  project: string | undefined,
): Promise<HistoryPartition[]> {
  const partition = { subject: 'instance', key: instance } as const;
  const filter = present({ kind: 'handle.claimed', project_id: project });
  const { records } = await deps.history.read(partition, {
    limit: arqsMax,
    order: 'newest-first',
    filter,
  });
  const arqs = new Set(records.flatMap(({ arqUuid }) => (arqUuid ? [arqUuid as ArqUuid] : [])));
  return [partition, ...[...arqs].map((key) => ({ subject: 'arq', key }) as const)];
}

/** The host in the device's row, or in the last record of a device that is gone. */
async function hostOfDevice(deps: ConsumerDeps, uuid: string): Promise<string | undefined> {
  const device = await deps.listings.deviceByUuid(uuid);
  if (device) return device.hostname;
  const page = { limit: 1, order: 'newest-first', filter: {} } as const;
  const { records } = await deps.history.read({ subject: 'device', key: uuid }, page);
  return records[0]?.hostname;
}
