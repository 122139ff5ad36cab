// How many more servers with a profile fit, where, and what stops the others.

import type { Capacity, HostCapacity, Profile } from '#console/api/answers.ts';
import { Choice } from '#console/parts/dialog/field.tsx';
import { PartialList, useLiveList } from '#console/parts/list/live-list.tsx';
import { HostLink } from '#console/parts/names/links.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { missingText, reasonsText } from '#console/parts/text.ts';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { counted, numberText, timeText } from '#console/parts/time/time-text.ts';
import { useLive } from '#console/parts/use-live.ts';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import { capacitySum } from './capacity-sum.ts';
import { obstacleText } from './obstacle-text.ts';

/** Each reading looks at all hosts. */
const everyMs = 30_000;
export const profileList = {
  path: '/v2/device_profiles',
  collection: 'device_profiles',
  everyMs,
} as const;

export function CapacityScreen({ route }: ScreenProps) {
  const { isOperator } = useSession();
  const profiles = useLiveList<Profile>(profileList);
  const names = profiles.rows.map(({ name }) => name).sort();
  const profile = route.filters.profile ?? names[0];
  return (
    <Screen title="Capacity">
      {/* What is below has a time of its own. */}
      {(!profiles.data || profiles.failure) && <Freshness live={profiles} subject="profiles" />}
      {profiles.data && names.length === 0 && <p class="empty">There are no device profiles.</p>}
      {profile !== undefined && (
        <search class="filters">
          <Choice
            label="Device profile"
            value={profile}
            options={[...new Set([...names, profile])].map((name) => [name, name])}
            onChange={(name) => {
              location.hash = addressOf('capacity', undefined, { profile: name });
            }}
          />
        </search>
      )}
      {profile !== undefined &&
        (isOperator ? <Where profile={profile} /> : <Availability profile={profile} />)}
    </Screen>
  );
}

function Where({ profile }: { readonly profile: string }) {
  const list = useLiveList<HostCapacity>({
    path: '/operator/v1/capacity',
    collection: 'hosts',
    everyMs,
    query: { profile },
  });
  const { fits, stoppedBy } = capacitySum(list.rows);
  const most = Math.max(1, ...stoppedBy.map(({ count }) => count));
  return (
    <>
      <Freshness live={list} subject="the capacity" />
      <MeasuredSince of={list.data ? [list.data] : []} />
      <PartialList list={list} row="host" />
      {list.data && (
        <>
          <div class="columns">
            <Section title="Would fit">
              <p class="figure" role="status">
                {counted(fits, 'more server')}
              </p>
              {list.data.missing && <p>{missingText(list.data.missing)}</p>}
              <p class="quiet">
                Nova's own limits, such as memory, are not counted. Placement's allocations are
                taken to be the claims.
              </p>
            </Section>
            <Section title="What stops the others">
              {stoppedBy.length === 0 && (
                <p class="empty">Nothing: each attach handle serves one.</p>
              )}
              <ul class="bars">
                {stoppedBy.map(({ reason, count }) => (
                  <li key={reason}>
                    <span>
                      <strong>{numberText(count)}</strong> {obstacleText(reason)}{' '}
                      <code>{reason}</code>
                    </span>
                    <meter
                      min={0}
                      max={most}
                      value={count}
                      aria-label={`Attach handles: ${reason}`}
                    />
                  </li>
                ))}
              </ul>
            </Section>
          </div>
          <Section title="Where">
            <Table
              name="Hosts"
              rows={list.rows}
              columns={columns}
              keyOf={({ hostname }) => hostname}
              order={{ column: 'Fits', isDescending: true }}
              empty="No host has devices of the asked classes."
            />
          </Section>
        </>
      )}
    </>
  );
}

function Availability({ profile }: { readonly profile: string }) {
  const live = useLive<Capacity>(`availability ${profile}`, { everyMs }, ({ session, signal }) =>
    session.api.ask('GET', '/operator/v1/capacity', { query: { profile }, signal }),
  );
  return (
    <>
      <Freshness live={live} subject="the capacity" />
      <MeasuredSince of={live.data ? [{ measuredAt: live.data.measured_at }] : []} />
      {live.data && 'availability' in live.data && (
        <Section title="Would fit">
          <p class="figure" role="status">
            {sentences[live.data.availability]}
          </p>
        </Section>
      )}
    </>
  );
}

interface MeasuredSinceProps {
  readonly of: readonly { readonly measuredAt?: string | null }[];
}

/** The API answers for a large cloud what the sweep has measured. */
export function MeasuredSince({ of: all }: MeasuredSinceProps) {
  const [at] = all.flatMap(({ measuredAt }) => measuredAt ?? []).sort();
  if (at === undefined) return null;
  return (
    <p class="quiet">{`Hosts are as they were measured, the first at ${timeText(at)} UTC.`}</p>
  );
}

const sentences = {
  none: 'No further server fits.',
  few: 'A few more servers fit: fewer than ten.',
  many: 'Many more servers fit: ten or more.',
} as const;

const columns: readonly Column<HostCapacity>[] = [
  {
    title: 'Host',
    cell: ({ hostname }) => <HostLink hostname={hostname} />,
    sortBy: ({ hostname }) => hostname,
  },
  {
    title: 'Fits',
    cell: ({ fits }) => numberText(fits),
    sortBy: ({ fits }) => fits,
    isNumber: true,
  },
  {
    title: 'Stopped by',
    cell: ({ stopped_by }) => reasonsText(stopped_by) || undefined,
    sortBy: ({ stopped_by }) => stopped_by[0]?.reason,
  },
];
