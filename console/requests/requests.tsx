// Accelerator requests, the stuck ones first, with the reason and the next step.

import { useMemo } from 'preact/hooks';
import type { Arq, HistoryRecord, Incident } from '#console/api/answers.ts';
import { readAll } from '#console/api/pages.ts';
import { Choice } from '#console/parts/dialog/field.tsx';
import { HostLink, Id, RequestLink, ServerLink } from '#console/parts/links.tsx';
import { useLiveList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { StateOf, Status } from '#console/parts/status.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time.tsx';
import { useLive } from '#console/parts/use-live.ts';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import { type ListName, type ListRow, lists } from '#core/contracts/api/lists.ts';
import { type RequestRow, requestRows } from './request-rows.ts';

const everyMs = 5000;
const rowsMax = 500;

export function RequestsScreen({ route }: ScreenProps) {
  const { identity } = useSession();
  const list = useLiveList<Arq>({
    path: '/v2/accelerator_requests',
    collection: 'arqs',
    everyMs,
    rowsMax,
    query: { sort_key: 'created_at', sort_dir: 'desc' },
  });
  const needs = useNeeds();
  const rows = useMemo(
    () => requestRows(list.rows, needs.data?.incidents ?? [], needs.data?.failures ?? []),
    [list.rows, needs.data],
  );
  const { show } = route.filters;
  const shown = show === 'attention' ? rows.filter(({ nextStep }) => nextStep) : rows;
  return (
    <Screen title="Requests">
      <p class="quiet">
        {identity.roles.includes('admin')
          ? 'Accelerator requests of all projects.'
          : `Accelerator requests of ${identity.project.name}.`}
      </p>
      <search class="filters">
        <Choice
          label="Show"
          value={show ?? ''}
          options={[
            ['', 'All requests'],
            ['attention', 'Requests that are not settled'],
          ]}
          onChange={(value) => {
            location.hash = addressOf('requests', undefined, { show: value });
          }}
        />
      </search>
      <LiveTable
        {...{ list, columns }}
        row="request"
        rows={shown}
        keyOf={({ arqUuid }) => arqUuid}
        empty={rows.length === 0 ? 'There are no requests.' : 'All requests are settled.'}
      />
    </Screen>
  );
}

interface Needs {
  readonly incidents: readonly Incident[];
  readonly failures: readonly HistoryRecord[];
}

/** Why binds failed or are stuck: incidents for operators, a tenant's own history for tenants. */
function useNeeds() {
  const { isOperator } = useSession();
  return useLive<Needs>('needs of requests', { everyMs }, async ({ session: { api }, signal }) => {
    const readList = <Name extends ListName>(list: Name, kind: string, rowsMax: number) => {
      const { path } = lists[list];
      const listing = { path, collection: list, rowsMax, signal, query: { kind } };
      return readAll<ListRow<Name>>(api, listing);
    };
    if (!isOperator) {
      const { rows } = await readList('history', 'bind.failed', 100);
      return { incidents: [], failures: rows };
    }
    const failed = await readList('incidents', 'failed-bind', rowsMax);
    const stuck = await readList('incidents', 'stuck-job', rowsMax);
    return { incidents: [...failed.rows, ...stuck.rows], failures: [] };
  });
}

const columns: readonly Column<RequestRow>[] = [
  {
    title: 'State',
    cell: ({ state, isStuck }) => (
      <>
        <StateOf word={state} />
        {isStuck && (
          <div>
            <Status tone="bad">stuck</Status>
          </div>
        )}
      </>
    ),
  },
  { title: 'Since, UTC', cell: ({ since }) => <Time at={since} /> },
  { title: 'Profile', cell: ({ profile }) => profile },
  { title: 'Host', cell: ({ hostname }) => <HostLink {...{ hostname }} /> },
  {
    title: 'Reason and next step',
    cell: ({ reason, nextStep }) =>
      (reason ?? nextStep) && (
        <div class="sentences">
          {reason && <p>{reason}</p>}
          {nextStep && <p class="quiet">{nextStep}</p>}
        </div>
      ),
  },
  { title: 'Server', cell: ({ instanceUuid }) => <ServerLink uuid={instanceUuid} /> },
  { title: 'Project', cell: ({ projectId }) => <Id id={projectId} /> },
  { title: 'ARQ', cell: ({ arqUuid }) => <RequestLink uuid={arqUuid} /> },
];
