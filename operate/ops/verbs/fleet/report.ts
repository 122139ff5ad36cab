// What the fleet had, by day, model and project.

import * as z from 'zod';
import type { Column } from '#core/command-line/columns.ts';
import { reportRow } from '#core/contracts/api/history.ts';
import { type Answer, answer } from '#operate/ops/answers.ts';
import { optionOf } from '#operate/ops/arguments/options.ts';
import { tableOf } from '#operate/ops/output/shown.ts';
import type { ApiVerb } from '#operate/ops/verb.ts';

const path = '/operator/v1/report';
const row = answer(reportRow, 'day', 'model', 'in_use');
type Row = Answer<typeof reportRow, 'day' | 'model' | 'in_use'>;
const document = z.looseObject({
  from: z.string(),
  to: z.string(),
  report: z.array(row),
});

const columns: readonly Column<Row>[] = [
  { title: 'day', of: ({ day }) => day, isWhole: true },
  { title: 'model', of: ({ model }) => model, isWhole: true },
  { title: 'project', of: ({ project_id }) => project_id, isWhole: true },
  { title: 'devices', of: ({ devices }) => devices },
  { title: 'healthy', of: ({ healthy }) => healthy },
  { title: 'handles', of: ({ handles }) => handles },
  { title: 'reserved', of: ({ reserved }) => reserved },
  { title: 'in use', of: ({ in_use }) => in_use },
];

const dayMs = 86_400_000;
/** The API answers no longer span. */
const spanMs = 28 * dayMs;

const time = (help: string) => ({
  ...optionOf('time', `${help}: 2026-03-01, or 90d for ninety days ago`),
  reads: 'time-before' as const,
});

export const reportVerb: ApiVerb = {
  path: ['report'],
  summary: 'devices delivered, healthy, reserved and in use, by day, model and project',
  options: {
    from: time('the first day; the first of this month without it'),
    to: time('before this day; now without it'),
  },
  example: 'cyborg-ops report --from 2026-03-01 --to 2026-04-01 --format csv',
  async ask(api, input, { clock }) {
    const to = input.text('to') ?? new Date(clock()).toISOString();
    const from = input.text('from') ?? `${to.slice(0, 7)}-01`;
    const parts: z.infer<typeof document>[] = [];
    // Whole days, so that no day is in two answers.
    const endMs = Math.ceil(Date.parse(to) / dayMs) * dayMs;
    let startMs = Math.floor(Date.parse(from) / dayMs) * dayMs;
    do {
      const untilMs = Math.min(startMs + spanMs, endMs);
      const query = { from: dayOf(startMs), to: dayOf(untilMs) };
      parts.push(await api.ask('GET', path, document, { query }));
      startMs = untilMs;
    } while (startMs < endMs);
    const report = parts.flatMap((part) => part.report);
    const json = { from: parts[0]?.from, to: parts.at(-1)?.to, report };
    return { json, table: tableOf(columns, report) };
  },
};

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
