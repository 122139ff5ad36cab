// Accelerator requests, the stuck ones first, with the reason and the next step.

import { useMemo } from 'preact/hooks';
import type { Arq, HistoryRecord, Incident } from '#console/api/answers.ts';
import { readAll } from '#console/api/pages.ts';
import { Choice } from '#console/parts/dialog/field.tsx';
import { Freshness } from '#console/parts/freshness.tsx';
import { HostLink, Id } from '#console/parts/links.tsx';
import { PartialList, useLiveList } from '#console/parts/live-list.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { StateOf, Status } from '#console/parts/status.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time.tsx';
import { useLive } from '#console/parts/use-live.ts';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { useSession } from '#console/session/session.ts';
import { type RequestRow, requestRows } from './request-rows.ts';

const everyMs = 5000;
const rowsMax = 500;

export function RequestsScreen({ route }: ScreenProps) {
  const { identity } = useSession();
  const list = useLiveList<Arq>({
    ...{ path: '/v2/accelerator_requests', collection: 'arqs', everyMs, rowsMax },
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
      <Freshness live={list} what="requests" />
      <PartialList {...{ list }} row="request" />
      {list.data && (
        <Table
          name="Requests"
          rows={shown}
          columns={columns}
          keyOf={({ arqUuid }) => arqUuid}
          empty={rows.length === 0 ? 'There are no requests.' : 'All requests are settled.'}
        />
      )}
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
    if (!isOperator) {
      const of = { path: '/operator/v1/history', collection: 'history', rowsMax: 100, signal };
      const query = { kind: 'bind.failed' };
      return {
        incidents: [],
        failures: (await readAll<HistoryRecord>(api, { ...of, query })).rows,
      };
    }
    const of = { path: '/operator/v1/incidents', collection: 'incidents', rowsMax: 500, signal };
    const ofKind = (kind: string) => readAll<Incident>(api, { ...of, query: { kind } });
    const [failed, stuck] = [await ofKind('failed-bind'), await ofKind('stuck-job')];
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
  { title: 'Server', cell: ({ instanceUuid }) => <Id id={instanceUuid} /> },
  { title: 'Project', cell: ({ projectId }) => <Id id={projectId} /> },
  { title: 'ARQ', cell: ({ arqUuid }) => <Id id={arqUuid} /> },
];
