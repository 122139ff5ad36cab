// Brings all devices of a model to an image, some at a time. Nothing of a roll is stored: which
// devices are done is what they run, so a roll that was ended is started again and goes on.

import type { Column } from '#core/command-line/columns.ts';
import { flag, optionOf } from '#operate/ops/arguments/options.ts';
import { counted, tableOf } from '#operate/ops/output/shown.ts';
import type { ApiVerb, Shown } from '#operate/ops/verb.ts';
import { drainOption, imageOption, oneComponent, oneModel } from './program.ts';
import { type Outcome, type Place, Roll, toPlace } from './roll.ts';

export const rollVerb: ApiVerb = {
  path: ['firmware', 'roll'],
  summary: 'programs all devices of a model, one of a host at a time; stops at the first failure',
  arguments: [oneModel, oneComponent],
  options: {
    image: imageOption,
    'at-once': {
      ...optionOf('number', 'devices that are programmed at the same time; 1 without it'),
      reads: 'count',
    },
    drain: drainOption,
    host: optionOf('host', 'only devices of this host'),
    'dry-run': flag('shows what it would do with each device, and changes nothing'),
  },
  example:
    'cyborg-ops firmware roll 8086:0b30 bmc --image 0f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b --at-once 2 --drain',
  async ask(api, input, waiting) {
    const roll = await Roll.begin(api, input, waiting);
    if (input.has('dry-run')) return shownPlan(roll.outcome, input.argument('component'));
    await roll.run();
    return shownOutcome(roll.outcome);
  },
};

/** What it would do with each device. */
function shownPlan({ version, current, underWay, left }: Outcome, component: string): Shown {
  const rows: PlannedRow[] = [
    ...left.map((row) => ({ row, plan: `program ${version}` })),
    ...underWay.map((row) => ({ row, plan: 'wait: is programmed' })),
    ...current.map((row) => ({ row, plan: 'nothing: runs it' })),
  ].map(({ row, plan }) => ({
    ...toPlace(row),
    runs: row.components.find(({ name }) => name === component)?.version,
    plan,
  }));
  const sentence = `${counted(left.length, 'device')} of ${rows.length} to program with ${component} ${version}; nothing changed.`;
  return {
    json: { version, devices: rows },
    table: tableOf(plannedColumns, rows, { foot: [sentence] }),
  };
}

function shownOutcome(outcome: Outcome): Shown {
  const { version, current, done, underWay, left, failures } = outcome;
  const json = {
    version,
    current: current.map(toPlace),
    done: done.map(toPlace),
    failed: failures,
    under_way: underWay.map(toPlace),
    left: left.map(toPlace),
  };
  const runs = counted(current.length + done.length, 'device');
  const sentence = `${runs} with ${version}: ${done.length} programmed, ${current.length} before.`;
  return {
    json,
    lines: () => [sentence, ...stopLines(outcome)],
    exitCode: failures.length > 0 ? 1 : 0,
  };
}

function stopLines({ underWay, left, failures }: Outcome): readonly string[] {
  if (failures.length === 0) return [];
  const others = underWay.map((row) => row.device_uuid).join(', ');
  return [
    ...failures.map(
      ({ device, host, step, reason }) =>
        `Stopped: device ${device} of host ${host} failed at step ${step}: ${reason}`,
    ),
    ...(others ? [`Still being programmed: ${others}.`] : []),
    ...(left.length > 0 ? [`Not begun: ${counted(left.length, 'device')}.`] : []),
  ];
}

type PlannedRow = Place & { readonly runs: string | undefined; readonly plan: string };

const plannedColumns: readonly Column<PlannedRow>[] = [
  { title: 'device', of: ({ device }) => device, isWhole: true },
  { title: 'host', of: ({ host }) => host, isWhole: true },
  { title: 'runs', of: ({ runs }) => runs, isWhole: true },
  { title: 'plan', of: ({ plan }) => plan, isWhole: true },
];
