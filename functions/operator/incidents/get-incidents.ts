import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { incidentsAnswer } from '#core/contracts/api/operator.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { type IncidentKind, incidentKinds, storedKinds } from '#core/domain/history/incidents.ts';
import { action, type Request } from '#functions/http/action.ts';
import { fillPage, hostname, limit, pageReply } from '#functions/operator/page.ts';
import { viewIncident } from '#functions/operator/view.ts';
import { readDrift } from './drift.ts';
import { readIncidents } from './incident-reads.ts';

const query = z.strictObject({
  kind: z.enum(incidentKinds).optional(),
  host: hostname.optional(),
  limit,
  marker: z.string().max(300).optional(),
});

/** Rows of one kind that one request reads at most. */
const readMax = 2000;

type OwnRequest = Request<z.infer<typeof query>, undefined, ConsumerDeps>;

/** Kind by kind. A marker is a kind, a colon and where the next page of that kind begins. */
export const getIncidents = action(
  { query, answers: { 200: incidentsAnswer }, refuses: [404] },
  async ({ deps, query: given, base }: OwnRequest) => {
    const at = { base, path: '/incidents', query: given };
    if (given.kind === 'drift') {
      const after = startOf(given.marker, ['drift'])?.after;
      const { rows, next } = await readDrift(deps, given.host, after);
      const marker = next === undefined ? undefined : `drift:${next}`;
      return { body: pageReply('incidents', rows.map(viewIncident), at, marker) };
    }
    const start = startOf(given.marker, storedKinds);
    const kinds = storedKinds
      .slice(start ? storedKinds.indexOf(start.kind) : 0)
      .filter((kind) => given.kind === undefined || kind === given.kind);
    const rows: ReturnType<typeof viewIncident>[] = [];
    for (const kind of kinds) {
      const marker = kind === start?.kind ? start.after : undefined;
      const page = await fillPage(
        { limit: given.limit - rows.length, readMax, ...(marker && { marker }) },
        async (after, count) =>
          (await readIncidents[kind](deps, after, count)).map(({ marker: own, row }) => {
            const isShown = given.host === undefined || row?.hostname === given.host;
            return { marker: own, row: row && isShown ? viewIncident(row) : undefined };
          }),
      );
      rows.push(...page.rows);
      if (page.next !== undefined) {
        return { body: pageReply('incidents', rows, at, `${kind}:${page.next}`) };
      }
    }
    return { body: pageReply('incidents', rows, at, undefined) };
  },
);

function startOf<Kind extends IncidentKind>(
  marker: string | undefined,
  kinds: readonly Kind[],
): { readonly kind: Kind; readonly after: string } | undefined {
  if (marker === undefined) return undefined;
  const [name, ...rest] = marker.split(':');
  const kind = kinds.find((each) => each === name);
  if (kind && rest.length > 0 && rest[0] !== '') return { kind, after: rest.join(':') };
  throw new InvalidInput(`Marker ${marker} could not be found: it is that of the page before.`);
}
