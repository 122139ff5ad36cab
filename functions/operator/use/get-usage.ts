import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { usageAnswer } from '#core/contracts/api/history.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { type Span, sumUsage, type Usage } from '#core/domain/quota/usage.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { type ListQuery, listQuery } from '#functions/operator/list.ts';
import { dayMs, parseRange, type Range } from '#functions/operator/range.ts';
import { readAssignments } from './assignments.ts';

type Filter = ListQuery<'usage'>;

/** All since `from` is read, a day after the other. */
const daysMax = 400;

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
    const usage = isHidden ? [] : await read(deps, project, span, nowMs);
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
): Promise<Usage[]> {
  const from = new Date(span.fromMs).toISOString();
  const assignments = await readAssignments(deps, project, from, nowMs);
  if (assignments === 'too-many') {
    throw new InvalidInput(
      `from: more accelerators were released since ${from} than one answer counts; ask for a later time, or for one project.`,
    );
  }
  return sumUsage(assignments, span);
}
