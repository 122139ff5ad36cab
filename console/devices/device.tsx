// One device: who has it, its health, its programs, and what happened to it.

import type { Device, HistoryRecord, HostDetail, HostDevice } from '#console/api/answers.ts';
import { DeviceStatus, Health } from '#console/parts/device-state.tsx';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { listColumns } from '#console/parts/list/list-columns.tsx';
import { useList } from '#console/parts/list/live-list.tsx';
import { Missing, missingOf } from '#console/parts/missing.tsx';
import { hostPath } from '#console/parts/names/host-path.ts';
import { HostLink } from '#console/parts/names/links.tsx';
import { fieldItems, Properties } from '#console/parts/properties.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { countsText } from '#console/parts/text.ts';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { useLive } from '#console/parts/use-live.ts';
import type { ScreenProps } from '#console/routes.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { holdTexts, hostDeviceTitles, without } from '#core/contracts/api/lists/titles.ts';
import { AssignmentTable } from './assignments.tsx';
import { deviceActions, devicePath } from './device-actions.ts';
import { FirmwareTable } from './firmware.tsx';
import { evidenceText } from './record-text.ts';
import { Timeline } from './timeline.tsx';

const everyMs = 5000;
const slowMs = 30_000;

interface Seen {
  readonly device: Device;
  /** The device in its host's answer; undefined if it is no longer there. */
  readonly onHost: HostDevice | undefined;
}

export function DeviceScreen({ route: { id: uuid = '' } }: ScreenProps) {
  const live = useLive<Seen>(devicePath(uuid), { everyMs }, async ({ session, signal }) => {
    const device = await session.api.ask<Device>('GET', devicePath(uuid), { signal });
    const host = await session.api.ask<HostDetail>('GET', hostPath(device.hostname), { signal });
    return { device, onHost: host.devices.find((each) => each.uuid === uuid) };
  });
  const missing = missingOf(live);
  if (missing) {
    return (
      <Missing
        title="No such device"
        sentence={`${missing.message} A device that its host no longer reports is removed.`}
        ways={[
          ['Show what happened to it', 'history', undefined, { device: uuid }],
          ['Show all hosts', 'hosts'],
          ['Show the fleet', 'fleet'],
        ]}
      />
    );
  }
  const { disable, enable, reset, forceRelease } = deviceActions(uuid);
  const status = live.data?.device.status;
  const offered = [
    ...(status === 'enabled' ? [disable] : []),
    ...(status === 'maintaining' ? [enable] : []),
    ...(isWholeFree(live.data?.onHost?.handles) ? [reset] : []),
    ...(live.data?.onHost?.handles.quarantined ? [forceRelease] : []),
  ];
  const buttons = offered.map((action) => (
    <ActionButton key={action.verb} action={action} onAnswer={live.refresh} />
  ));
  return (
    <Screen title={`Device ${live.data?.onHost?.address ?? uuid}`} actions={buttons}>
      <Freshness live={live} subject="the device" />
      {live.data && <Facts {...live.data} />}
      {live.data?.device.components?.length ? (
        <Section title="Components">
          <FirmwareTable uuid={uuid} />
        </Section>
      ) : null}
      <Section title="Who has it now">
        <AssignmentTable query={{ device: uuid }} />
      </Section>
      <Records
        title="Programs"
        kind="region.programmed"
        columns={programColumns}
        empty="No program was recorded."
        uuid={uuid}
      />
      <Records
        title="Programs of components"
        kind="device.programmed"
        columns={programColumns}
        empty="No program was recorded."
        uuid={uuid}
      />
      <Records
        title="Cleaning evidence"
        kind="handle.cleaned"
        columns={cleaningColumns}
        empty="No cleaning was recorded."
        uuid={uuid}
      />
      <Section title="What happened">
        <Timeline query={{ device: uuid }} />
      </Section>
    </Screen>
  );
}

function Facts({ device, onHost }: Seen) {
  return (
    <Section title="State">
      <Properties
        items={[
          ...fieldItems(deviceTitles, device, {
            uuid: <code key="uuid">{device.uuid}</code>,
            hostname: <HostLink key="host" hostname={device.hostname} />,
            status: <DeviceStatus key="status" status={device.status} />,
          }),
          ...(onHost ? hostItems(onHost) : []),
        ]}
      />
    </Section>
  );
}

/** Components and programs have a section of their own. */
const deviceTitles = without(lists.devices.columns, 'components', 'programs');
const hostTitles = without(hostDeviceTitles, 'uuid', 'type', 'model', 'status', 'reason');

/** The fields that only the host's answer has. */
function hostItems(device: HostDevice) {
  return fieldItems(hostTitles, device, {
    handles: countsText(device.handles),
    grants: device.grants.map(({ project_id, until }) => `${project_id} until ${until}`).join(', '),
    holds: holdTexts(device.holds).join('; '),
    health: <Health key="health" health={device.health} />,
  });
}

interface RecordsProps {
  readonly title: string;
  readonly uuid: string;
  readonly kind: HistoryRecord['kind'];
  readonly columns: readonly Column<HistoryRecord>[];
  readonly empty: string;
}

function Records({ title, uuid, kind, columns, empty }: RecordsProps) {
  const query = { device: uuid, kind };
  const list = useList('history', { everyMs: slowMs, rowsMax: 20, query });
  return (
    <Section title={title}>
      <Freshness live={list} subject="the history" />
      {list.data && (
        <Table
          name={title}
          rows={list.rows}
          keyOf={({ id }) => id}
          columns={columns}
          empty={empty}
        />
      )}
    </Section>
  );
}

const programColumns = listColumns('history', ['at', 'from', 'to', 'reason', 'by']);

const cleaningColumns = listColumns('history', ['at', 'attach_handle_uuid', 'evidence', 'reason'], {
  evidence: ({ evidence }) => evidence && evidenceText(evidence),
});

function isWholeFree(handles: HostDevice['handles'] | undefined): boolean {
  const held = Object.entries(handles ?? {}).some(
    ([state, count]) => state !== 'free' && count > 0,
  );
  return !held && (handles?.free ?? 0) > 0;
}
