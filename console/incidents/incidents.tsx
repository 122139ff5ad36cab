// Incidents, each with its next step and the action that ends it.

import type { Incident } from '#console/api/answers.ts';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { DeviceLink, HostLink, Id } from '#console/parts/links.tsx';
import { listColumns } from '#console/parts/list/list-columns.tsx';
import { ListScreen } from '#console/parts/list/list-screen.tsx';
import type { LiveList } from '#console/parts/list/live-list.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import type { ScreenProps } from '#console/routes.ts';
import { incidentAction } from './incident-action.ts';

export function IncidentsScreen({ route }: ScreenProps) {
  return <ListScreen name="incidents" {...{ route, columns }} />;
}

const columns = (list: LiveList<Incident>): readonly Column<Incident>[] => [
  ...listColumns('incidents', ['kind', 'since']),
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
