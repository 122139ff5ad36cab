// A host as a tree of NUMA nodes, root ports and switches, with who holds which accelerator.

import type * as z from 'zod';
import { topologyAnswer } from '#core/contracts/api/operator.ts';
import { sameLevels } from '#core/domain/pool/wholes.ts';
import { answer } from '#operate/ops/answers.ts';
import type { ApiVerb } from '#operate/ops/verb.ts';
import { counted } from './shown.ts';

const topology = answer(topologyAnswer, 'hostname', 'units', 'pools');
type Unit = z.infer<typeof topology>['units'][number];
type Pool = z.infer<typeof topology>['pools'][number];

export const topologyVerb: ApiVerb = {
  path: ['hosts', 'topology'],
  summary: 'where the accelerators of a host are, and who holds which',
  arguments: [{ name: 'host', help: "the compute node's name in Nova" }],
  example: 'cyborg-ops hosts topology cmp1.example',
  async ask(api, input) {
    const path = `/operator/v1/hosts/${encodeURIComponent(input.argument('host'))}/topology`;
    const row = await api.ask('GET', path, topology);
    return { json: row, lines: () => [...treeOf(row.units), ...row.pools.map(poolLine)] };
  },
};

/** From far to near; where it is not known, the next level follows at once. */
const levels: readonly { readonly name: string; readonly of: (unit: Unit) => unknown }[] = [
  { name: 'NUMA node', of: ({ numa }) => numa },
  { name: 'root port', of: ({ root }) => root },
  { name: 'switch', of: ({ switch: port }) => port },
];

function treeOf(units: readonly Unit[], [level, ...nearer] = levels, indent = ''): string[] {
  if (!level) return unitLines(units).map((line) => `${indent}${line}`);
  const places = [...Map.groupBy(units, (unit) => level.of(unit) ?? undefined)];
  return places
    .toSorted(([one], [other]) => String(one ?? '~').localeCompare(String(other ?? '~')))
    .flatMap(([place, below]) =>
      place === undefined
        ? treeOf(below, nearer, indent)
        : [`${indent}${level.name} ${place}`, ...treeOf(below, nearer, `${indent}  `)],
    );
}

/** Units of a device that no server holds are one line: a card can have thousands. */
function unitLines(units: readonly Unit[]): string[] {
  const alike = Map.groupBy(units, (unit) =>
    unit.instance_uuid ? unit.attach_handle_uuid : [unit.device_address, unit.state, unit.set].join(),
  );
  return [...alike.values()].flatMap((group) => {
    const [first] = group.toSorted((a, b) => ((a.address ?? '') < (b.address ?? '') ? -1 : 1));
    return first ? [unitLine(first, group.length - 1)] : [];
  });
}

function unitLine(unit: Unit, others: number): string {
  const { address, device_address: device = '', set, instance_uuid: server } = unit;
  const parts = [
    address ?? device,
    others > 0 && `and ${others} more`,
    address && address !== device && `of ${device}`,
    unit.resource_class ?? unit.type,
    server ? `server ${server}` : unit.state,
    set && `set ${set}`,
  ];
  return parts.filter(Boolean).join('  ');
}

function poolLine({ device_address: name, units = 0, free, together = {} }: Pool): string {
  const most = sameLevels.map((level) => `${together[level] ?? 0} of one ${level}`).join(', ');
  return `pool ${name}: ${free} of ${counted(units, 'unit')} free; together at most ${most}`;
}
