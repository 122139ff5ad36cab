// Incidents, each with its next step and the action that ends it; or those that have ended, each
// with its duration and with who ended it.

import type { Incident } from '#console/api/answers.ts';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { listColumns } from '#console/parts/list/list-columns.tsx';
import { ListScreen } from '#console/parts/list/list-screen.tsx';
import type { LiveList } from '#console/parts/list/live-list.tsx';
import { DeviceLink, HostLink } from '#console/parts/names/links.tsx';
import { Actor, Name, ServerLink } from '#console/parts/names/name.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import type { ScreenProps } from '#console/routes.ts';
import { durationText } from '#core/contracts/api/lists/titles.ts';
import { incidentAction } from './incident-action.ts';

export function IncidentsScreen({ route }: ScreenProps) {
  const columns = route.filters.state === 'ended' ? endedColumns : openColumns;
  return <ListScreen name="incidents" route={route} columns={columns} />;
}

const commonColumns: readonly Column<Incident>[] = [
  ...listColumns('incidents', ['kind', 'since']),
  {
    title: 'Where',
    cell: ({ hostname, device_uuid, instance_uuid, project_id }) => (
      <ul class="plain">
        <li>
          <HostLink hostname={hostname} />
        </li>
        {device_uuid && (
          <li>
            device <DeviceLink uuid={device_uuid} />
          </li>
        )}
        {instance_uuid && (
          <li>
            server <ServerLink uuid={instance_uuid} />
          </li>
        )}
        {project_id && (
          <li>
            project <Name kind="projects" id={project_id} />
          </li>
        )}
      </ul>
    ),
    sortBy: ({ hostname }) => hostname,
  },
  {
    title: 'Reason and next step',
    cell: ({ reason, next_step, runbook }) => (
      <div class="sentences">
        <p>{reason}</p>
        <p class="quiet">{next_step}</p>
        {runbook && (
          <p class="quiet">
            Runbook: <code>{runbook}</code>
          </p>
        )}
      </div>
    ),
  },
];

const openColumns = (list: LiveList<Incident>): readonly Column<Incident>[] => [
  ...commonColumns,
  {
    title: 'Action',
    cell: (incident) => {
      const action = incidentAction(incident);
      return action && <ActionButton action={action} onAnswer={list.refresh} isInRow />;
    },
  },
];

const endedColumns = (): readonly Column<Incident>[] => [
  ...commonColumns,
  ...listColumns('incidents', ['ended_at']),
  {
    title: 'Lasted',
    cell: ({ since, ended_at }) => durationText(since, ended_at) ?? '-',
  },
  { title: 'Ended by', cell: ({ ended_by }) => (ended_by ? <Actor by={ended_by} /> : 'time') },
];
