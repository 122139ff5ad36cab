import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { ListRow } from '#core/contracts/api/lists/lists.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { type IncidentKind, storedKinds } from '#core/domain/history/incidents.ts';
import { listAction } from '#functions/operator/list.ts';
import { fillPage } from '#functions/operator/page.ts';
import { viewIncident } from '#functions/operator/view.ts';
import { readDrift } from './drift.ts';
import { readEnded } from './ended.ts';
import { readIncidents } from './incident-reads.ts';
import { findSuspects, type Suspects } from './suspects.ts';

/** Rows of one kind that one request reads at most. */
const readMax = 2000;

const paging = { marker: z.string().max(300), refuses: [404] };

/**
 * Open ones come kind by kind: a marker is a kind, a colon and where the next page of that kind
 * begins.
 */
export const getIncidents = listAction('incidents', paging, async ({ deps, query }) => {
  const { kind, host, limit } = query;
  if (query.state === 'ended') {
    const { rows, next } = await readEnded(deps, query);
    return { rows: rows.map(viewIncident), next };
  }
  if (kind === 'drift') {
    const after = parseMarker(query.marker, ['drift'])?.after;
    const { rows, next } = await readDrift(deps, host, after);
    return { rows: rows.map(viewIncident), next: next && `drift:${next}` };
  }
  const begin = parseMarker(query.marker, storedKinds);
  const kinds = storedKinds
    .slice(begin ? storedKinds.indexOf(begin.kind) : 0)
    .filter((each) => kind === undefined || each === kind);
  const rows: ListRow<'incidents'>[] = [];
  const listings = readOnce(deps.listings);
  const suspects = readSuspectsOnce((await findSuspects(deps)) ?? listings);
  const reading = { ...deps, listings, suspects };
  for (const each of kinds) {
    const marker = each === begin?.kind ? begin.after : undefined;
    const size = limit - rows.length;
    const start = { limit: size, marker, readMax, atOnce: limit };
    const page = await fillPage(start, async (after, count) => {
      const entries = await readIncidents[each](reading, after, count);
      return entries.map((entry) => {
        const isShown = host === undefined || entry.row?.hostname === host;
        return {
          marker: entry.marker,
          row: entry.row && isShown ? viewIncident(entry.row) : undefined,
        };
      });
    });
    rows.push(...page.rows);
    if (page.next !== undefined) return { rows, next: `${each}:${page.next}` };
  }
  return { rows };
});

type Listings = ConsumerDeps['listings'];

/** Each page of hosts and devices, and what is due, is read once for all kinds of incidents. */
function readOnce(listings: Listings): Listings {
  return { ...listings, ...readSuspectsOnce(listings), overdue: once(listings.overdue) };
}

function readSuspectsOnce({ hostsAfter, devicesAfter }: Suspects): Suspects {
  return { hostsAfter: once(hostsAfter), devicesAfter: once(devicesAfter) };
}

function once<Request extends readonly unknown[], Answer>(
  read: (...request: Request) => Promise<Answer>,
): typeof read {
  const answers = new Map<string, Promise<Answer>>();
  return (...request) => {
    const key = JSON.stringify(request);
    const answer = answers.get(key) ?? read(...request);
    answers.set(key, answer);
    return answer;
  };
}

function parseMarker<Kind extends IncidentKind>(
  marker: string | undefined,
  kinds: readonly Kind[],
): { readonly kind: Kind; readonly after: string } | undefined {
  if (marker === undefined) return undefined;
  const [name, ...rest] = marker.split(':');
  const kind = kinds.find((each) => each === name);
  if (kind && rest.length > 0 && rest[0] !== '') return { kind, after: rest.join(':') };
  throw new InvalidInput(`Marker ${marker} could not be found: it is that of the page before.`);
}
