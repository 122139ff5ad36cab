// The devices of the host that is chosen on the map, with their attach handles.

import type { HostDetail, HostDevice } from '#console/api/answers.ts';
import { DeviceStatus, Health } from '#console/parts/device-state.tsx';
import { hostPath } from '#console/parts/names/host-path.ts';
import { DeviceLink } from '#console/parts/names/links.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { countsText } from '#console/parts/text.ts';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { useLive } from '#console/parts/use-live.ts';

const everyMs = 5000;

export function SelectedHost({ hostname }: { readonly hostname: string }) {
  const live = useLive<HostDetail>(hostPath(hostname), { everyMs }, ({ session, signal }) =>
    session.api.ask('GET', hostPath(hostname), { signal }),
  );
  return (
    <>
      <Freshness live={live} subject="the host" />
      {live.data && (
        <Table
          name={`Devices of ${hostname}`}
          rows={live.data.devices}
          columns={columns}
          keyOf={({ uuid }) => uuid}
          empty="The host reports no device."
        />
      )}
    </>
  );
}

const columns: readonly Column<HostDevice>[] = [
  {
    title: 'Address',
    cell: ({ uuid, address }) => <DeviceLink uuid={uuid} title={address} />,
    sortBy: ({ address }) => address,
  },
  { title: 'Type', cell: ({ type }) => type, sortBy: ({ type }) => type },
  { title: 'Model', cell: ({ model }) => model },
  { title: 'Status', cell: ({ status }) => <DeviceStatus status={status} /> },
  { title: 'Health', cell: ({ health }) => <Health health={health} /> },
  { title: 'Attach handles', cell: ({ handles }) => countsText(handles) },
];
