// Which servers have which accelerators now.

import type { Query } from '#console/api/client.ts';
import { listColumns, listKey } from '#console/parts/list/list-columns.tsx';
import { useList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { DeviceLink } from '#console/parts/names/links.tsx';

const everyMs = 5000;
const rowsMax = 200;
const noServer = 'No server has an accelerator of it.';

interface AssignmentTableProps {
  readonly query: Query;
  readonly empty?: string;
}

export function AssignmentTable({ query, empty = noServer }: AssignmentTableProps) {
  const list = useList('assignments', { everyMs, rowsMax, query });
  return (
    <LiveTable
      list={list}
      columns={columns}
      row="assignment"
      rows={list.rows}
      keyOf={listKey('assignments')}
      empty={empty}
    />
  );
}

const columns = listColumns(
  'assignments',
  [
    'instance_uuid',
    'project_id',
    'device_profile_name',
    'arq_state',
    'device_health',
    'bound_since',
    'resource_class',
    'hostname',
    'device_uuid',
    'arq_uuid',
  ],
  { device_uuid: (row) => <DeviceLink uuid={row.device_uuid} title={row.device_address} /> },
);
