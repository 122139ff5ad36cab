// Quotas of projects by resource class.

import * as z from 'zod';
import { cellText } from '#core/command-line/columns.ts';
import type { Input } from '#operate/command.ts';
import { storedId } from '#operate/ops/arguments/options.ts';
import { shownDone, shownOne } from '#operate/ops/output/shown.ts';
import { type ApiVerb, type Argument, wrongUsage } from '#operate/ops/verb.ts';
import { listColumns, rowAnswer } from './lists/list-columns.ts';

const quota = rowAnswer('quotas');

const project: Argument = {
  name: 'project',
  help: "the project's name or id",
  isProject: true,
};
const pathOf = (input: Input) =>
  `/operator/v1/quotas/${encodeURIComponent(input.argument('project'))}`;

export const quotaVerbs: readonly ApiVerb[] = [
  {
    path: ['quota', 'show'],
    summary: "a project's quota",
    arguments: [project],
    example: 'cyborg-ops quota show 7a1f0c9e6f5b4d0f8a52',
    ask: async (api, input) =>
      shownOne(listColumns('quotas'), await api.ask('GET', pathOf(input), quota)),
  },
  {
    path: ['quota', 'set'],
    summary: 'sets all limits of a project; a class that is not named has none',
    arguments: [
      project,
      {
        name: 'class=limit',
        help: 'a resource class and its limit, such as VGPU=40',
        isRepeated: true,
      },
    ],
    example: 'cyborg-ops quota set 7a1f0c9e6f5b4d0f8a52 VGPU=40 FPGA=2',
    async ask(api, input) {
      const limits = parseLimits(input.repeated('class=limit'));
      const body = { limits };
      const answer = await api.ask('PUT', pathOf(input), quota.optional(), { body });
      // The API's limits: its names of classes are in upper case.
      const limited = Object.entries(answer?.limits ?? limits).filter(
        ([, limit]) => limit !== null,
      );
      const set = limited.map(([name, limit]) => `${name}=${limit}`).join(', ');
      const use = answer?.in_use ? `; in use: ${cellText(answer.in_use)}` : '';
      return shownDone(`${input.argument('project')}: ${set}${use}`, answer);
    },
  },
  {
    path: ['quota', 'unset'],
    summary: "removes a project's quota",
    arguments: [project],
    options: storedId,
    example: 'cyborg-ops quota unset 7a1f0c9e6f5b4d0f8a52',
    async ask(api, input) {
      const answer = await api.ask('DELETE', pathOf(input), z.unknown());
      return shownDone(`${input.argument('project')} has no quota.`, answer);
    },
  },
];

function parseLimits(pairs: readonly string[]): Readonly<Record<string, number>> {
  const limits = new Map<string, number>();
  for (const pair of pairs) {
    const [, name, limit] = /^([A-Za-z][A-Za-z0-9_]*)=(\d{1,9})$/.exec(pair) ?? [];
    if (name === undefined || limit === undefined) {
      throw wrongUsage(`${pair} must be a resource class and an integer from 0, such as VGPU=40.`);
    }
    if (limits.has(name)) throw wrongUsage(`Duplicate resource class ${name}.`);
    limits.set(name, Number(limit));
  }
  return Object.fromEntries(limits);
}
