import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { reportAnswer, reportRow } from '#core/contracts/api/history.ts';
import { reportDay } from '#core/domain/fleet/report.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { action } from '#functions/http/action.ts';
import { moment, parseRange } from '#functions/operator/range.ts';

const query = z.strictObject({ from: moment.optional(), to: moment.optional() });
type ReportQuery = z.infer<typeof query>;

/** An answer of Lambda has 6 MB. */
const daysMax = 31;

/** Devices and attach handles by day, model and project. */
export const getReport = action<ReportQuery, undefined, ConsumerDeps>(
  { query: query as z.ZodType<ReportQuery>, answers: { 200: reportAnswer } },
  async ({ deps, query: { from, to } }) => {
    const now = new Date(deps.clock()).toISOString();
    const range = parseRange(from ?? `${now.slice(0, 7)}-01`, to ?? now, daysMax);
    // A moment later, `to` may be the first of a day that does not belong to the range.
    const last = new Date(Date.parse(range.to) - 1).toISOString().slice(0, 10);
    const first = range.from.slice(0, 10);
    const days = await deps.store.fleet.days(first, last);
    const rows = days.flatMap(({ day, samples }) => reportDay(day, samples));
    return { body: { from: first, to: last, report: rows.map((row) => toWire(reportRow, row)) } };
  },
);
