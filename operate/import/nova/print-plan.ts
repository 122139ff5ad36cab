// The plan of a move from Nova as lines for the operator.

import { tableLines } from '#core/command-line/columns.ts';
import { copyCommand } from './flavors.ts';
import type { NovaPlan, NovaRow, NovaVerdict } from './plan.ts';
import { changedProperties } from './plan-flavors.ts';

const order: readonly NovaVerdict[] = ['refuse', 'skip', 'stay', 'move', 'present'];

export function novaLines(plan: NovaPlan, suffix: string): readonly string[] {
  const rows = plan.rows.toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  const commands = flavorCommands(plan, suffix);
  return [
    ...tableLines<NovaRow>(
      [
        { title: 'verdict', of: ({ verdict }) => verdict },
        { title: 'what', of: ({ what }) => what },
        { title: 'name', of: ({ name }) => name },
        { title: 'note', of: ({ note }) => note },
      ],
      rows,
      Number.POSITIVE_INFINITY,
    ),
    ...section('Settings of the agent of this host:', plan.settings),
    ...section('Device profiles:', plan.profiles.length > 0 ? plan.profiles : undefined),
    ...(commands.length > 0 ? ['', 'Flavors, once hosts offer the devices:', ...commands] : []),
    '',
    countLine(plan),
  ];
}

/** One command for each flavor that moves. */
export function flavorCommands({ flavors }: NovaPlan, suffix: string): readonly string[] {
  return flavors.flatMap((plan) =>
    plan.verdict === 'move'
      ? [copyCommand(plan.flavor, `${plan.flavor.name}${suffix}`, changedProperties(plan))]
      : [],
  );
}

function section(title: string, json: unknown): readonly string[] {
  return json === undefined ? [] : ['', title, JSON.stringify(json, null, 2)];
}

function countLine({ rows }: NovaPlan): string {
  const count = (verdict: NovaVerdict) => rows.filter((row) => row.verdict === verdict).length;
  return `${count('move')} to move, ${count('present')} present, ${count('stay')} stay with Nova, ${count('skip')} skipped, ${count('refuse')} refused`;
}
