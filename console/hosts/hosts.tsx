// All hosts as a list: the same hosts as on the map of the fleet.

import { useMemo, useState } from 'preact/hooks';
import type { Host } from '#console/api/answers.ts';
import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { Freshness } from '#console/parts/freshness.tsx';
import { HostLink } from '#console/parts/links.tsx';
import { PartialList, useLiveList } from '#console/parts/live-list.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { StateOf } from '#console/parts/status.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time.tsx';
import { counted } from '#console/parts/time-text.ts';
import type { ScreenProps } from '#console/routes.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import { hostsWith } from './search.ts';

const everyMs = 10_000;
export const hostList = { path: '/operator/v1/hosts', collection: 'hosts', everyMs } as const;

export function HostsScreen({ route }: ScreenProps) {
  const list = useLiveList<Host>(hostList);
  const [text, setText] = useState(route.filters.name ?? '');
  const [state, setState] = useState(route.filters.state ?? '');
  const found = useMemo(
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
          onChange={setState}
        />
      </search>
      <Freshness live={list} what="hosts" />
      <PartialList list={list} row="host" />
      {list.data && (
        <>
          <p role="status">{counted(found.length, 'host')}</p>
          <Table
            name="Hosts"
            rows={found}
            columns={columns}
            keyOf={({ hostname }) => hostname}
            empty={list.rows.length === 0 ? 'No host has reported yet.' : 'No host is so.'}
          />
        </>
      )}
    </Screen>
  );
}

const columns: readonly Column<Host>[] = [
  {
    title: 'Host',
    cell: ({ hostname }) => <HostLink {...{ hostname }} />,
    sortBy: ({ hostname }) => hostname,
  },
  { title: 'State', cell: ({ state }) => <StateOf word={state} />, sortBy: ({ state }) => state },
  {
    title: 'Since, UTC',
    cell: (host) => <Time at={host.state_since} />,
    sortBy: (host) => host.state_since,
  },
  {
    title: 'Devices',
    cell: (host) => host.devices,
    sortBy: (host) => host.devices,
    isNumber: true,
  },
  {
    title: 'Not offered',
    cell: (host) => host.not_offered,
    sortBy: (host) => host.not_offered,
    isNumber: true,
  },
  { title: 'Agent', cell: (host) => host.agent_version, sortBy: (host) => host.agent_version },
  {
    title: 'Last report, UTC',
    cell: (host) => <Time at={host.last_report_at} />,
    sortBy: (host) => host.last_report_at,
  },
  {
    title: 'No binds until, UTC',
    cell: ({ drained, paused }) => {
      if (drained && !drained.until) return 'resumed';
      const until = drained?.until ?? paused?.until;
      return until && <Time at={until} />;
    },
    sortBy: ({ drained, paused }) => drained?.until ?? paused?.until,
  },
];
