// The components of a device: what they run, what they must run, and their last programs. A
// program is started by `cyborg-ops firmware program`, or by the API.

import { useList } from '#console/parts/list/live-list.tsx';
import { LiveTable } from '#console/parts/list/live-table.tsx';
import { Id } from '#console/parts/names/links.tsx';
import { StateOf } from '#console/parts/status.tsx';
import type { Column } from '#console/parts/table/table.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { type FirmwareRow, firmwareRows } from './firmware-rows.ts';

const everyMs = 5000;

export function FirmwareTable({ uuid }: { readonly uuid: string }) {
  const list = useList('firmware', { everyMs, query: { device: uuid } });
  return (
    <LiveTable
      list={list}
      columns={columns}
      row="component"
      rows={list.rows.flatMap(firmwareRows)}
      keyOf={({ component }) => component}
      empty="No part of the device can be programmed."
    />
  );
}

const columns: readonly Column<FirmwareRow>[] = [
  { title: 'Component', cell: ({ component }) => component },
  { title: 'Runs', cell: ({ version }) => version },
  { title: 'Baseline differs', cell: ({ differsFrom }) => differsFrom },
  {
    title: 'Last program',
    cell: ({ program }) =>
      program && (
        <>
          <StateOf word={program.state} />
          {program.percent !== null && ` ${program.percent} %`}
        </>
      ),
  },
  { title: 'Version', cell: ({ program }) => program?.version },
  { title: 'Reason', cell: ({ program }) => program?.reason },
  { title: 'Image', cell: ({ program }) => program && <Id id={program.image_uuid} /> },
  { title: 'At', cell: ({ program }) => program && <Time at={program.requested_at} /> },
  { title: 'By', cell: ({ program }) => program && <Id id={program.requested_by} /> },
];
