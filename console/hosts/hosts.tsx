// All hosts as a list: the same hosts as on the map of the fleet.

import { useMemo, useState } from 'preact/hooks';
import type { Host } from '#console/api/answers.ts';
import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { listColumns, listKey } from '#console/parts/list/list-columns.tsx';
import { useList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { Name } from '#console/parts/names/name.tsx';
import { Screen } from '#console/parts/screen.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { counted } from '#console/parts/time/time-text.ts';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import { hostsWith } from './search.ts';

const everyMs = 10_000;

/** Also for the map of the fleet. */
export const useHosts = () => useList('hosts', { everyMs });

export function HostsScreen({ route }: ScreenProps) {
  const list = useHosts();
  const [text, setText] = useState(route.filters.name ?? '');
  const { state = '' } = route.filters;
  const matches = useMemo(
    () => hostsWith(list.rows, text).filter((host) => state === '' || host.state === state),
    [list.rows, text, state],
  );
  return (
    <Screen title="Hosts">
      <search class="filters">
        <Field label="Name contains" name="name" type="search" value={text} onInput={setText} />
        <Choice
          label="State"
          value={state}
          options={[['', 'All states'], ...hostStates.map((each) => [each, each] as const)]}
          onChange={(value) => {
            location.hash = addressOf('hosts', undefined, { state: value });
          }}
        />
      </search>
      {list.data && <p role="status">{counted(matches.length, 'host')}</p>}
      <LiveTable
        list={list}
        columns={columns}
        row="host"
        rows={matches}
        keyOf={listKey('hosts')}
        empty={list.rows.length === 0 ? 'No host has reported yet.' : 'No host matches.'}
      />
    </Screen>
  );
}

const columns: readonly Column<Host>[] = [
  ...listColumns(
    'hosts',
    [
      'hostname',
      'state',
      'state_since',
      'devices',
      'not_offered',
      'agent_version',
      'last_report_at',
    ],
    { devices: { isNumber: true }, not_offered: { isNumber: true } },
  ),
  {
    title: 'No new binds',
    cell: ({ drained, paused }) => {
      const why = drained ?? paused;
      if (!why) return undefined;
      return (
        <div class="sentences">
          <p>{why.reason}</p>
          <p class="quiet">
            {drained ? (
              <>
                drained by <Name kind="users" id={drained.by} />
              </>
            ) : (
              'paused after failed jobs'
            )}
            {', until '}
            {why.until ? <Time at={why.until} /> : 'it is resumed'}
          </p>
        </div>
      );
    },
    sortBy: ({ drained, paused }) => drained?.until ?? paused?.until,
  },
];
