// Which servers have which accelerators now.

import type { Assignment } from '#console/api/answers.ts';
import type { Query } from '#console/api/client.ts';
import { Freshness } from '#console/parts/freshness.tsx';
import { DeviceLink, HostLink, Id } from '#console/parts/links.tsx';
import { PartialList, useLiveList } from '#console/parts/live-list.tsx';
import { StateOf } from '#console/parts/status.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time.tsx';

const everyMs = 5000;
const rowsMax = 200;

export function AssignmentTable({ query }: { readonly query: Query }) {
  const list = useLiveList<Assignment>({
    ...{ path: '/operator/v1/assignments', collection: 'assignments', everyMs, rowsMax, query },
  });
  return (
    <>
      <Freshness live={list} what="assignments" />
      <PartialList {...{ list }} row="assignment" />
      {list.data && (
        <Table
          name="Assignments"
          rows={list.rows}
          columns={columns}
          keyOf={(row) => row.arq_uuid}
          empty="No server has an accelerator of it."
        />
      )}
    </>
  );
}

const columns: readonly Column<Assignment>[] = [
  { title: 'Server', cell: (row) => <Id id={row.instance_uuid} /> },
  { title: 'Project', cell: (row) => <Id id={row.project_id} />, sortBy: (row) => row.project_id },
  {
    title: 'Profile',
    cell: (row) => row.device_profile_name,
    sortBy: (row) => row.device_profile_name,
  },
  {
    title: 'State',
    cell: (row) => <StateOf word={row.arq_state} />,
    sortBy: (row) => row.arq_state,
  },
  {
    title: 'Since, UTC',
    cell: (row) => <Time at={row.bound_since} />,
    sortBy: (row) => row.bound_since,
  },
  { title: 'Class', cell: (row) => row.resource_class, sortBy: (row) => row.resource_class },
  { title: 'Host', cell: (row) => <HostLink hostname={row.hostname} /> },
  {
    title: 'Device',
    cell: (row) => <DeviceLink uuid={row.device_uuid} title={row.device_address} />,
  },
  { title: 'ARQ', cell: (row) => <Id id={row.arq_uuid} /> },
];
