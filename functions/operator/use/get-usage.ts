import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { usageAnswer } from '#core/contracts/api/history.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import {
  endedAssignments,
  mergeUsage,
  type Span,
  sumUsage,
  type Usage,
} from '#core/domain/quota/usage.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { type ListQuery, listQuery } from '#functions/operator/list.ts';
import { dayMs, parseRange, type Range } from '#functions/operator/range.ts';
import {
  lastingAssignments,
  type ReadBudget,
  readAssignments,
  releasesMax,
} from './assignments.ts';

type Filter = ListQuery<'usage'>;

/** All since `from` is read, a day after the other. */
const daysMax = 400;

export const tenantBudget: ReadBudget = { pages: 80, ms: 8000 };
/** The gateway waits 30 s. */
const operatorBudget: ReadBudget = { pages: 400, ms: 20_000 };

/** Accelerator-seconds of each project, class and day; a tenant sees its project's. */
export const getUsage = action<Filter, undefined, ConsumerDeps>(
  { query: listQuery('usage', {}), answers: { 200: usageAnswer } },
  async ({ deps, caller, query }) => {
    const nowMs = deps.clock();
    const range = rangeSince(query, nowMs, Math.min(daysMax, deps.settings.historyDays));
    // Current use is counted until now.
    const span = { fromMs: Date.parse(range.from), toMs: Math.min(Date.parse(range.to), nowMs) };
    const ownProject = isOperator(deps, caller) ? undefined : caller.projectId;
    const { project = ownProject } = query;
    const isHidden = ownProject !== undefined && project !== ownProject;
    const budget = ownProject === undefined ? operatorBudget : tenantBudget;
    const usage = isHidden ? [] : await read(deps, project, span, nowMs, budget);
    const { resource_class: requestedClass } = query;
    return {
      body: {
        from: range.from,
        to: new Date(span.toMs).toISOString(),
        usage: usage
          .filter(
            ({ resourceClass }) => requestedClass === undefined || resourceClass === requestedClass,
          )
          .map(({ projectId, resourceClass, day, acceleratorMs }) => ({
            project_id: projectId,
            resource_class: resourceClass,
            day,
            accelerator_seconds: acceleratorMs / 1000,
          })),
      },
    };
  },
);

/** @throws InvalidInput if it begins before what the history has */
function rangeSince(query: Filter, nowMs: number, days: number): Range {
  const now = new Date(nowMs).toISOString();
  const earliest = new Date(nowMs - days * dayMs).toISOString();
  const month = `${now.slice(0, 7)}-01`;
  const from = query.from ?? (month > earliest ? month : earliest);
  const range = parseRange(from, query.to ?? now, days);
  if (range.from < earliest) {
    throw new InvalidInput(`from: at most ${days} days ago, which is ${earliest}.`);
  }
  return range;
}

async function read(
  deps: ConsumerDeps,
  project: string | undefined,
  span: Span,
  nowMs: number,
  budget: ReadBudget,
): Promise<Usage[]> {
  const from = new Date(span.fromMs).toISOString();
  const isOfDays = [span.fromMs, span.toMs].every((ms) => ms === nowMs || ms % dayMs === 0);
  const usage =
    project === undefined && isOfDays
      ? await readDays(deps, span, nowMs)
      : await readAll(deps, project, span, nowMs, budget);
  if (usage !== 'too-many') return usage;
  const others = project === undefined ? ', or for one project' : '';
  throw new InvalidInput(
    `from: the history since ${from} is more than one answer reads; ask for a later time${others}.`,
  );
}

async function readAll(
  deps: ConsumerDeps,
  project: string | undefined,
  span: Span,
  nowMs: number,
  budget: ReadBudget,
): Promise<Usage[] | 'too-many'> {
  const from = new Date(span.fromMs).toISOString();
  const assignments = await readAssignments(deps, project, from, nowMs, budget);
  return assignments === 'too-many' ? assignments : sumUsage(assignments, span);
}

/** Reads whole days, and the time since midnight, from the sums that are kept of all projects. */
async function readDays(
  deps: ConsumerDeps,
  span: Span,
  nowMs: number,
): Promise<Usage[] | 'too-many'> {
  const from = new Date(span.fromMs).toISOString();
  // First those that last: one that ends meanwhile is in both, and is counted once.
  const lasting = await lastingAssignments(deps, undefined, nowMs);
  const ended = await deps.store.usageSums.read(from, {
    nowMs,
    daysKept: deps.settings.historyDays,
    releasesMax,
  });
  if (ended === 'too-many') return ended;
  const live = new Map([...lasting, ...endedAssignments(ended.releases)]);
  const [first, last] = [span.fromMs, span.toMs - 1].map((ms) => new Date(ms).toISOString());
  const isInRange = ({ day }: Usage) =>
    day >= String(first).slice(0, 10) && day <= String(last).slice(0, 10);
  const kept = ended.usage.filter(isInRange);
  return mergeUsage([...sumUsage(live.values(), span), ...kept]);
}
