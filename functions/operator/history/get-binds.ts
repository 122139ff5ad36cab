import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { bindsAnswer } from '#core/contracts/api/history.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { action } from '#functions/http/action.ts';
import { dayMs, moment, parseRange } from '#functions/operator/range.ts';

const query = z.strictObject({ from: moment.optional(), to: moment.optional() });
type BindsQuery = z.infer<typeof query>;

/** The history keeps claims of all projects a little longer. */
const daysMax = 31;

/** How many binds succeeded and failed, by hour. */
export const getBinds = action<BindsQuery, undefined, ConsumerDeps>(
  { query: query as z.ZodType<BindsQuery>, answers: { 200: bindsAnswer } },
  async ({ deps, query: { from, to } }) => {
    const now = deps.clock();
    // The hours to come would be read again and again.
    const endMs = Math.min(to === undefined ? now : Date.parse(to), now);
    const start = from ?? new Date(endMs - dayMs).toISOString();
    const days = Math.min(daysMax, deps.settings.historyDays);
    const range = parseRange(start, new Date(endMs).toISOString(), days);
    const earliest = new Date(now - days * dayMs).toISOString();
    if (range.from < earliest) {
      throw new InvalidInput(`from: at most ${days} days ago, which is ${earliest}.`);
    }
    const { counts, next = null } = await deps.store.bindCounts.read(range, deps.clock);
    return { body: { binds: [...counts], next } };
  },
);
