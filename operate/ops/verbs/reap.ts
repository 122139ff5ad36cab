// Releases what instances hold that do not use it, when the reaper waits for an operator.

import type * as z from 'zod';
import type { Column } from '#core/command-line/columns.ts';
import { reapAnswer } from '#core/contracts/api/operator/incidents.ts';
import { present } from '#core/shapes/derive/present.ts';
import { answer } from '#operate/ops/answers.ts';
import { flag, optionOf } from '#operate/ops/arguments/options.ts';
import { counted, shownDone, tableOf } from '#operate/ops/output/shown.ts';
import { type ApiVerb, type Shown, wrongUsage } from '#operate/ops/verb.ts';

const reaped = answer(reapAnswer, 'waiting', 'released', 'kept', 'left');
type Reaped = z.infer<typeof reaped>;

const columns: readonly Column<Reaped['waiting'][number] & { readonly outcome: string }>[] = [
  { title: 'server', of: (row) => row.instance_uuid, isWhole: true },
  { title: 'host', of: (row) => row.hostname, isWhole: true },
  { title: 'project', of: (row) => row.project_id },
  { title: 'unused since', of: (row) => row.since, isWhole: true },
  { title: 'nova', of: (row) => row.nova, isWhole: true },
  { title: 'outcome', of: (row) => row.outcome, isWhole: true },
];

export const reapVerb: ApiVerb = {
  path: ['reap'],
  summary: 'servers that hold devices and do not use them, when there are too many at once',
  options: {
    'dry-run': flag('lists them, and changes nothing; as without an option'),
    apply: flag('looks at each again, and releases those that are not in use'),
    instance: optionOf('uuid', 'only this server'),
  },
  example: 'cyborg-ops reap --dry-run',
  async ask(api, input) {
    const isApply = input.has('apply');
    if (isApply && input.has('dry-run')) {
      throw wrongUsage('Give --dry-run or --apply, not both.');
    }
    const instance = input.text('instance');
    const body = { dry_run: !isApply, ...present({ instance }) };
    const parts: Reaped[] = [];
    let last: Reaped;
    // A request has some seconds only; one that releases nothing more is the last.
    do {
      last = await api.ask('POST', '/operator/v1/reap', reaped, { body });
      parts.push(last);
    } while (last.left > 0 && last.released.length > 0);
    return shownReaped(parts, isApply);
  },
};

function shownReaped(parts: readonly Reaped[], isApply: boolean): Shown {
  const all = parts[0]?.waiting ?? [];
  const released = new Set(parts.flatMap((part) => part.released));
  const kept = new Map(
    parts.flatMap((part) => part.kept.map((each) => [each.instance_uuid, each.reason] as const)),
  );
  const outcomeOf = (uuid = '') => (released.has(uuid) ? 'released' : (kept.get(uuid) ?? 'waits'));
  const rows = all.map((row) => ({ ...row, outcome: outcomeOf(row.instance_uuid) }));
  const summary = isApply
    ? `${counted(released.size, 'server')} released, ${rows.length - released.size} not.`
    : `${counted(rows.length, 'server')} waiting; --apply releases those that are not in use.`;
  const json = { waiting: rows };
  if (rows.length === 0) return shownDone(summary, json);
  return { json, table: tableOf(columns, rows, { foot: [summary] }) };
}
