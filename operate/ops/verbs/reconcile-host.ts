// Compares one host with Placement through the API, which needs no AWS credentials. The command
// `reconcile` works on the stack itself, also where the catalog leads to another one.

import type * as z from 'zod';
import type { Column } from '#core/command-line/columns.ts';
import { reconcileAnswer } from '#core/contracts/api/operator/incidents.ts';
import { present } from '#core/shapes/derive/present.ts';
import { answer } from '#operate/ops/answers.ts';
import { flag } from '#operate/ops/arguments/options.ts';
import { counted, shownDone, tableOf } from '#operate/ops/output/shown.ts';
import type { ApiVerb } from '#operate/ops/verb.ts';

const compared = answer(reconcileAnswer, 'compared', 'differing', 'repairing');
type Compared = z.infer<typeof compared>;

const columns: readonly Column<Compared['differing'][number]>[] = [
  { title: 'provider', of: (row) => row.provider, isWhole: true },
  { title: 'DynamoDB', of: (row) => row.stored, isWhole: true },
  { title: 'Placement', of: (row) => row.placement, isWhole: true },
  { title: 'host', of: (row) => row.host, isWhole: true },
];

export const reconcileHostVerb: ApiVerb = {
  path: ['hosts', 'reconcile'],
  summary: 'compares the host with Placement; exits with 1 if they differ',
  arguments: [{ name: 'host', help: "the compute node's name in Nova" }],
  options: { repair: flag('has Placement hold what is stored, soon after the answer') },
  example: 'cyborg-ops hosts reconcile cmp1.example --repair',
  async ask(api, input) {
    const host = input.argument('host');
    const isRepair = input.has('repair');
    const parts: Compared[] = [];
    let marker: string | undefined;
    // A request has some seconds only, and names where the next one goes on.
    do {
      const body = { host, dry_run: !isRepair, ...present({ marker }) };
      const part = await api.ask('POST', '/operator/v1/reconcile', compared, { body });
      parts.push(part);
      marker = part.next ?? undefined;
    } while (marker !== undefined);
    const differing = parts.flatMap((part) => part.differing);
    const repairing = parts.flatMap((part) => part.repairing);
    const count = parts.reduce((sum, part) => sum + part.compared, 0);
    const done = `${counted(repairing.length, 'device')} being repaired; compare again in a minute.`;
    const summary = `${host}: ${counted(count, 'provider')}, ${differing.length} differ. `;
    const sentence = (summary + (repairing.length > 0 ? done : '')).trim();
    const json = { hostname: host, compared: count, differing, repairing };
    if (differing.length === 0) return shownDone(sentence, json);
    const exitCode = repairing.length > 0 ? 0 : 1;
    return { json, exitCode, table: tableOf(columns, differing, { foot: [sentence] }) };
  },
};
