// One host: its presence, its devices, what it does not offer and why, and what can be done.

import type { HostDetail, HostDevice } from '#console/api/answers.ts';
import { AssignmentTable } from '#console/devices/assignments.tsx';
import { Timeline } from '#console/devices/timeline.tsx';
import { DeviceStatus, Health } from '#console/parts/device-state.tsx';
import { ActionButton } from '#console/parts/dialog/action-button.tsx';
import { fieldColumns } from '#console/parts/list/list-columns.tsx';
import { Missing, missingOf } from '#console/parts/missing.tsx';
import { hostPath } from '#console/parts/names/host-path.ts';
import { DeviceLink } from '#console/parts/names/links.tsx';
import { Name } from '#console/parts/names/name.tsx';
import { Notice } from '#console/parts/notice.tsx';
import { fieldItems, Properties } from '#console/parts/properties.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { StateOf } from '#console/parts/status.tsx';
import { Table } from '#console/parts/table/table.tsx';
import { countsText } from '#console/parts/text.ts';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { Time } from '#console/parts/time/time.tsx';
import { counted, timeText } from '#console/parts/time/time-text.ts';
import { useLive } from '#console/parts/use-live.ts';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { hostDeviceTitles, notOfferedTitles, without } from '#core/contracts/api/lists/titles.ts';
import { runbooks } from '#core/domain/history/runbooks.ts';
import { hostActions, serversText, settleAction } from './host-actions.ts';
import { Topology } from './topology.tsx';

const everyMs = 5000;

export function HostScreen({ route: { id: hostname = '' } }: ScreenProps) {
  const live = useLive<HostDetail>(hostPath(hostname), { everyMs }, ({ session, signal }) =>
    session.api.ask('GET', hostPath(hostname), { signal }),
  );
  const missing = missingOf(live);
  if (missing) {
    return (
      <Missing
        title="No such host"
        sentence={missing.message}
        ways={[['Show all hosts', 'hosts']]}
      />
    );
  }
  const { drain, resume, rediscover, forget } = hostActions(hostname);
  const buttons = [drain, resume, rediscover].map((action) => (
    <ActionButton key={action.verb} action={action} onAnswer={live.refresh} />
  ));
  return (
    <Screen title={`Host ${hostname}`} actions={buttons}>
      <Freshness live={live} subject="the host" />
      {live.data && <Facts host={live.data} onAnswer={live.refresh} />}
      <Section title="Where its accelerators are">
        <Topology hostname={hostname} />
      </Section>
      <Section title="Who has its devices">
        <AssignmentTable query={{ host: hostname }} />
      </Section>
      <Section title="What happened">
        <Timeline query={{ host: hostname }} />
      </Section>
      <Section title="Last resort">
        {live.data && <p>{`${serversText(live.data.servers)} A host that is away comes back.`}</p>}
        <ActionButton action={forget} onAnswer={live.refresh} />
      </Section>
    </Screen>
  );
}

interface FactsProps {
  readonly host: HostDetail;
  readonly onAnswer: () => void;
}

function Facts({ host, onAnswer }: FactsProps) {
  const { drained, paused, conflict, devices, not_offered: notOffered } = host;
  return (
    <>
      {conflict && <Conflict host={host} conflict={conflict} onAnswer={onAnswer} />}
      {host.state === 'away' && (
        <Notice tone="warning">
          {`The agent has been away since ${timeText(host.state_since ?? '')} UTC. ${serversText(host.servers)} `}
          Steps: <code>{`docs/operations.md#${runbooks['host-away']}`}</code>
        </Notice>
      )}
      {drained && <Drained drained={drained} />}
      {paused && (
        <Notice tone="warning">
          {`The host failed ${counted(paused.failed_jobs, 'job')}: ${paused.reason} Until ${timeText(paused.until)} UTC it gets no bind that it must prepare.`}
        </Notice>
      )}
      <Section title="State">
        <Properties
          items={[
            ...fieldItems(titles, host, {
              state: <StateOf key="state" word={host.state} />,
              failed_drivers: host.failed_drivers.join(', ') || 'none',
              nova_versions: host.nova_versions?.join(', ') || 'not found',
              clock_ahead_seconds: clockText(host.clock_ahead_seconds),
            }),
            ['Incidents', <IncidentsLink key="incidents" hostname={host.hostname} />],
          ]}
        />
      </Section>
      <Section title={`Devices (${devices.length})`}>
        <Table
          name="Devices"
          rows={devices}
          columns={deviceColumns}
          keyOf={({ uuid }) => uuid}
          empty="The host reports no device."
        />
      </Section>
      <Section title={`Not offered (${notOffered.length})`}>
        <Table
          name="Not offered"
          rows={notOffered}
          columns={notOfferedColumns}
          keyOf={({ address, driver }) => `${driver} ${address}`}
          empty="The host offers all devices that its settings name."
        />
      </Section>
    </>
  );
}

/** The rest of the screen shows the other fields. */
const titles = {
  ...without(lists.hosts.columns, 'hostname', 'devices', 'not_offered', 'drained', 'paused'),
  clock_ahead_seconds: 'clock',
};

function clockText(ahead: HostDetail['clock_ahead_seconds']): string {
  if (ahead === null) return 'not measured';
  if (ahead === 0) return "the control plane's, to the second";
  return `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the control plane`;
}

function Drained({ drained }: { readonly drained: NonNullable<HostDetail['drained']> }) {
  const { by, since, reason, until } = drained;
  const end = until ? ` Its end was set to ${timeText(until)} UTC.` : '';
  return (
    <Notice tone="warning">
      The user <Name kind="users" id={by} />
      {` drained the host at ${timeText(since)} UTC: ${reason}${end} It takes no new binds until it is resumed; what is bound stays bound.`}
    </Notice>
  );
}

interface ConflictProps extends FactsProps {
  readonly conflict: NonNullable<HostDetail['conflict']>;
}

function Conflict({ host: { hostname }, conflict: { since, boots }, onAnswer }: ConflictProps) {
  return (
    <Section title="Conflict">
      <Notice tone="error">
        {`Two agents have reported as this host since ${timeText(since)} UTC, and none of its devices is offered. Stop the wrong agent, then settle by the boot of the right one.`}
      </Notice>
      <Table
        name="Boots"
        rows={boots}
        columns={[
          { title: 'Boot', cell: (boot) => <code>{boot.boot_id}</code> },
          { title: 'Booted, UTC', cell: (boot) => <Time at={boot.booted_at} /> },
          { title: 'Last report, UTC', cell: (boot) => <Time at={boot.last_report_at} /> },
          {
            title: 'Action',
            cell: (boot) => (
              <ActionButton
                action={settleAction(hostname, boot.boot_id)}
                isInRow
                onAnswer={onAnswer}
              />
            ),
          },
        ]}
        keyOf={(boot) => boot.boot_id}
        empty="No boot has reported."
      />
    </Section>
  );
}

function IncidentsLink({ hostname }: { readonly hostname: string }) {
  const href = addressOf('incidents', undefined, { host: hostname });
  return <a href={href}>Incidents of this host</a>;
}

const deviceColumns = fieldColumns<HostDevice, keyof typeof hostDeviceTitles>(
  hostDeviceTitles,
  ['address', 'type', 'model', 'driver', 'status', 'health', 'handles'],
  {
    address: ({ uuid, address }) => <DeviceLink uuid={uuid} title={address} />,
    status: ({ status, reason }) => (
      <>
        <DeviceStatus status={status} />
        {reason && <p class="quiet">{reason}</p>}
      </>
    ),
    health: {
      cell: ({ health }) => <Health health={health} />,
      sortBy: ({ health }) => health ?? 'healthy',
    },
    handles: ({ handles }) => countsText(handles),
  },
);

const notOfferedColumns = fieldColumns<
  HostDetail['not_offered'][number],
  'address' | 'driver' | 'reason'
>(notOfferedTitles, ['address', 'driver', 'reason']);
