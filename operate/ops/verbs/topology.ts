// A host as a tree of NUMA nodes, root ports and switches, with who holds which accelerator.

import type * as z from 'zod';
import { topologyAnswer } from '#core/contracts/api/operator/hosts.ts';
import { entriesOf, type Place, placesOf } from '#core/domain/pool/host-tree.ts';
import { sameLevels } from '#core/domain/pool/wholes.ts';
import { answer } from '#operate/ops/answers.ts';
import { counted } from '#operate/ops/output/shown.ts';
import type { ApiVerb } from '#operate/ops/verb.ts';

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
    return {
      json: row,
      lines: () => [...linesOf(placesOf(row.units)), ...row.pools.map(poolLine)],
    };
  },
};

function linesOf({ title, below, units }: Place<Unit>, indent = ''): string[] {
  const within = title === '' ? indent : `${indent}  `;
  return [
    ...(title === '' ? [] : [`${indent}${title}`]),
    ...entriesOf(units).map(({ first, others }) => `${within}${unitLine(first, others)}`),
    ...below.flatMap((place) => linesOf(place, within)),
  ];
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
