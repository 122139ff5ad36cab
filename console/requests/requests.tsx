// Accelerator requests, the stuck ones first, with the reason and the next step.

import { useMemo } from 'preact/hooks';
import type { Arq, HistoryRecord, Incident } from '#console/api/answers.ts';
import { readAll } from '#console/api/pages.ts';
import { Filters } from '#console/parts/list/filters.tsx';
import { useLiveList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { HostLink, RequestLink } from '#console/parts/names/links.tsx';
import { Name, ServerLink } from '#console/parts/names/name.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { StateOf, Status } from '#console/parts/status.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { counted } from '#console/parts/time/time-text.ts';
import { useLive } from '#console/parts/use-live.ts';
import type { ScreenProps } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import type { Filter } from '#core/contracts/api/lists/list-routes.ts';
import { type ListName, type ListRow, lists } from '#core/contracts/api/lists/lists.ts';
import { hasRole } from '#core/domain/roles.ts';
import { matchingRows, type RequestRow, rankOf, requestRows, rowChoices } from './request-rows.ts';

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
  const shown = useMemo(() => matchingRows(rows, route.filters), [rows, route.filters]);
  return (
    <Screen title="Requests">
      <p class="quiet">
        {hasRole(identity.roles, ['admin'])
          ? 'Accelerator requests of all projects.'
          : `Accelerator requests of ${identity.project.name}.`}
      </p>
      <Filters route={route} filters={filters} choiceText={choiceText} />
      {list.data && <p role="status">{counted(shown.length, 'request')}</p>}
      <LiveTable
        list={list}
        columns={columns}
        row="request"
        rows={shown}
        keyOf={({ arqUuid }) => arqUuid}
        empty={rows.length === 0 ? 'There are no requests.' : 'No request matches.'}
      />
    </Screen>
  );
}

const filters: Readonly<Record<string, Filter>> = {
  state: { choices: rowChoices, help: 'only in this state' },
  profile: { form: 'name', help: 'only with this in the name of the profile' },
  host: { form: 'name', help: 'only with this in the name of the host' },
  server: { form: 'id', help: "only with this in the server's uuid" },
  project: { form: 'id', help: "only with this in the project's id" },
};

const choiceText = (choice: string) => (choice === 'unsettled' ? 'not settled' : choice);

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
    // Back to the order by need.
    sortBy: rankOf,
  },
  {
    title: 'Since, UTC',
    cell: ({ since }) => <Time at={since} />,
    sortBy: ({ since }) => since,
  },
  { title: 'Profile', cell: ({ profile }) => profile, sortBy: ({ profile }) => profile },
  {
    title: 'Host',
    cell: ({ hostname }) => <HostLink hostname={hostname} />,
    sortBy: ({ hostname }) => hostname,
  },
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
  {
    title: 'Server',
    cell: ({ instanceUuid }) => <ServerLink uuid={instanceUuid} />,
    sortBy: ({ instanceUuid }) => instanceUuid,
  },
  {
    title: 'Project',
    cell: ({ projectId }) => <Name kind="projects" id={projectId} />,
    sortBy: ({ projectId }) => projectId,
  },
  {
    title: 'ARQ',
    cell: ({ arqUuid }) => <RequestLink uuid={arqUuid} />,
    // It grows with the time of the creation.
    sortBy: ({ arqUuid }) => arqUuid,
  },
];
