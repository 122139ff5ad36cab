// What needs attention, with the next step and the action that ends it.

import type { Incident } from '#console/api/answers.ts';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { Freshness } from '#console/parts/freshness.tsx';
import { DeviceLink, HostLink, Id } from '#console/parts/links.tsx';
import { type LiveList, PartialList, useLiveList } from '#console/parts/live-list.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { StateOf } from '#console/parts/status.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time.tsx';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { incidentKinds } from '#core/domain/history/incidents.ts';
import { incidentAction } from './incident-action.ts';

const everyMs = 5000;

export function IncidentsScreen({ route }: ScreenProps) {
  const { kind, host } = route.filters;
  const list = useLiveList<Incident>({
    ...{ path: '/operator/v1/incidents', collection: 'incidents', everyMs },
    query: { kind, host },
  });
  const show = (filters: { kind?: string | undefined; host?: string | undefined }) => {
    location.hash = addressOf('incidents', undefined, { kind, host, ...filters });
  };
  return (
    <Screen title="Incidents">
      <search class="filters">
        <Choice
          label="Kind"
          value={kind ?? ''}
          options={[['', 'All kinds'], ...incidentKinds.map((each) => [each, each] as const)]}
          onChange={(value) => show({ kind: value })}
        />
        <form
          onSubmit={(event) => {
            event.preventDefault();
            show({ host: String(new FormData(event.currentTarget).get('host') ?? '').trim() });
          }}
        >
          <Field label="Host" name="host" type="search" value={host ?? ''} />
          <button type="submit">Filter</button>
        </form>
      </search>
      <Freshness live={list} what="incidents" />
      <PartialList list={list} row="incident" />
      {list.data && <IncidentTable list={list} />}
    </Screen>
  );
}

export function IncidentTable({ list }: { readonly list: LiveList<Incident> }) {
  const columns: readonly Column<Incident>[] = [
    { title: 'Kind', cell: ({ kind }) => <StateOf word={kind} />, sortBy: ({ kind }) => kind },
    { title: 'Since, UTC', cell: ({ since }) => <Time at={since} />, sortBy: ({ since }) => since },
    {
      title: 'Where',
      cell: ({ hostname, device_uuid, instance_uuid }) => (
        <ul class="plain">
          <li>
            <HostLink {...{ hostname }} />
          </li>
          {device_uuid && (
            <li>
              device <DeviceLink uuid={device_uuid} />
            </li>
          )}
          {instance_uuid && (
            <li>
              server <Id id={instance_uuid} />
            </li>
          )}
        </ul>
      ),
      sortBy: ({ hostname }) => hostname,
    },
    {
      title: 'Reason and next step',
      cell: ({ reason, next_step }) => (
        <div class="sentences">
          <p>{reason}</p>
          <p class="quiet">{next_step}</p>
        </div>
      ),
    },
    {
      title: 'Action',
      cell: (incident) => {
        const action = incidentAction(incident);
        return action && <ActionButton {...{ action }} onAnswer={list.refresh} isInRow />;
      },
    },
  ];
  return (
    <Table
      name="Incidents"
      rows={list.rows}
      columns={columns}
      keyOf={keyOf}
      empty={list.data?.next === undefined ? 'There are no incidents.' : 'None so far.'}
    />
  );
}

function keyOf({ kind, hostname, device_uuid, arq_uuid, since }: Incident): string {
  return [kind, hostname, device_uuid, arq_uuid, since].join(' ');
}
