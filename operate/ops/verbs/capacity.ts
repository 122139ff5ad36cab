// How many more servers fit.

import type * as z from 'zod';
import { type Column, tableLines } from '#core/command-line/columns.ts';
import { availabilityAnswer, capacityDetailAnswer } from '#core/contracts/api/operator/use.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import { flag, optionOf } from '#operate/ops/arguments/options.ts';
import type { ApiVerb } from '#operate/ops/verb.ts';

/** A tenant gets the availability alone. */
const capacity = answer(capacityDetailAnswer.extend(availabilityAnswer.shape));
type Capacity = z.infer<typeof capacity>;

export const capacityVerb: ApiVerb = {
  path: ['capacity'],
  summary: 'how many more servers a device profile allows, where, and what stops the others',
  arguments: [{ name: 'profile', help: "the device profile's name or uuid" }],
  options: {
    host: optionOf('host', 'on this host'),
    live: flag('reads the first hundred hosts now, in a large cloud, too'),
    alternative: optionOf('n', 'of this alternative of the profile; the first is 0'),
  },
  example: 'cyborg-ops capacity gpu-large',
  async ask(api, input) {
    const query = {
      profile: input.argument('profile'),
      host: input.text('host'),
      alternative: input.text('alternative'),
      live: input.has('live') ? 'true' : undefined,
    };
    const json = await api.ask('GET', '/operator/v1/capacity', capacity, { query });
    return { json, lines: (width) => capacityLines(input, json, width) };
  },
};

const reasonsOf = (stops: Capacity['stopped_by'] = []) =>
  stops.map(({ reason, count }) => `${reason} (${count})`).join(', ');

function capacityLines(input: Input, answer: Capacity, width: number): readonly string[] {
  const { availability, hosts = [], measured_at, total } = answer;
  const since = measured_at ? [`measured since ${measured_at}`] : [];
  // A tenant learns no more than this.
  if (answer.fits === undefined) {
    return [`${input.argument('profile')}: ${availability ?? 'unknown'}`, ...since];
  }
  const { fits, stopped_by = [] } = total ?? answer;
  const { missing = [] } = answer;
  const lacks = missing.length > 0 ? [`no device of the cloud has: ${missing.join(', ')}`] : [];
  const columns: readonly Column<(typeof hosts)[number]>[] = [
    { title: 'host', of: (row) => row.hostname, isWhole: true },
    { title: 'fits', of: (row) => row.fits },
    { title: 'stopped by', of: (row) => reasonsOf(row.stopped_by) },
  ];
  const stops = stopped_by.length > 0 ? [`stopped by: ${reasonsOf(stopped_by)}`] : [];
  const table = hosts.length > 0 ? ['', ...tableLines(columns, hosts, width)] : [];
  return [`${input.argument('profile')}: ${fits} more`, ...since, ...lacks, ...stops, ...table];
}
