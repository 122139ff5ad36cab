// The first screen of operators: how much is in use and out of service, what needs attention, and
// what runs out first. Of its readings only the report of the month is that of no other screen.

import { useState } from 'preact/hooks';
import type { Host, Incident } from '#console/api/answers.ts';
import { MeasuredSince } from '#console/capacity/capacity.tsx';
import { PartialList, useList } from '#console/parts/list/live-list.tsx';
import { DeviceLink, HostLink } from '#console/parts/names/links.tsx';
import { Notice } from '#console/parts/notice.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { StateOf } from '#console/parts/status.tsx';
import { reasonsText } from '#console/parts/text.ts';
import { Freshness, useNow } from '#console/parts/time/freshness.tsx';
import { counted, numberText } from '#console/parts/time/time-text.ts';
import { addressOf } from '#console/routes.ts';
import { Chart } from '#console/usage/chart.tsx';
import { hostStates } from '#core/domain/host/host-state.ts';
import {
  bindsByHour,
  classesOf,
  dayBefore,
  hostsByState,
  reasonsOf,
  totalOf,
  useOf,
} from './fleet-use.ts';
import { Month, Projects } from './sums.tsx';
import { Bars, barsMax, Tile } from './tiles.tsx';
import {
  askForClass,
  askForProfile,
  incidentsEveryMs,
  type Sums,
  usageEveryMs,
  useBinds,
  useCapacity,
  useIncidents,
  worstMax,
} from './use-overview.ts';

const minuteMs = 60_000;
const everyMs = minuteMs;
/** More reads of hosts than this are made less often, and those for profiles on demand. */
const hostReadsMax = 2000;
const capacityPauseMs = { few: minuteMs, many: 10 * minuteMs };

export function OverviewScreen() {
  const hosts = useList('hosts', { everyMs });
  const profiles = useList('profiles', { everyMs });
  const isWaiting = hosts.isFirst || profiles.isFirst;
  const classes = classesOf(profiles.rows);
  const offered = profiles.rows.filter(({ disabled }) => disabled === null);
  const names = offered.map(({ name }) => name);
  const isLarge = hosts.rows.length * (classes.length + names.length) > hostReadsMax;
  const capacityEveryMs = capacityPauseMs[isLarge ? 'many' : 'few'];
  const capacity = useCapacity(classes.map(askForClass), { everyMs: capacityEveryMs, isWaiting });
  const uses = classes.flatMap((name) => {
    const sum = capacity.data?.get(name);
    return sum ? [{ name, sum, ...useOf(sum) }] : [];
  });
  const total = capacity.data && !isWaiting ? totalOf(uses) : undefined;
  const from = dayBefore(useNow(minuteMs));
  const bindsEveryMs = isLarge ? usageEveryMs : everyMs;
  const binds = useBinds(from, bindsEveryMs);
  const chart = binds.data && bindsByHour(binds.data, from);
  const [bound, failed] = chart?.series.map(({ total }) => total) ?? [];

  if (hosts.data && hosts.rows.length === 0 && !hosts.isFirst) return <NoHosts />;
  return (
    <Screen title="Overview">
      <Freshness live={hosts} subject="hosts" everyMs={everyMs} />
      <PartialList list={hosts} row="host" />
      <ul class="tiles">
        <Tile title="Accelerators in use" href={addressOf('usage')} value={total?.inUse}>
          {total && `of ${counted(total.all, 'accelerator')}${capacity.isFirst ? ' so far' : ''}`}
        </Tile>
        <Tile title="Free" href={addressOf('capacity')} value={total?.free}>
          {classes.length > 0 && classes.join(', ')}
        </Tile>
        <Tile
          title="Out of service"
          href={addressOf('incidents')}
          value={total?.outOfService}
          tone={total?.outOfService ? 'warning' : undefined}
        >
          {total && reasonsText(reasonsOf(uses.map(({ sum }) => sum)))}
        </Tile>
        <Tile
          title="Failed boots, 24 h"
          href={addressOf('history', undefined, { kind: 'bind.failed', from })}
          value={failed}
          tone={failed ? 'bad' : undefined}
        >
          {bound !== undefined && `${counted(bound, 'bind')} succeeded`}
        </Tile>
        <HostsTile hosts={hosts.rows} />
      </ul>
      {profiles.data && profiles.rows.length === 0 && !profiles.isFirst && (
        <Notice tone="information">
          No device profile asks for an accelerator yet.{' '}
          <a href={addressOf('profiles')}>Create one</a>.
        </Notice>
      )}
      <div class="columns overview">
        <div class="overview-side">
          <Worst />
          <Section title="Binds by hour, UTC">
            <Freshness live={binds} subject="the history" everyMs={bindsEveryMs} />
            {chart && bound === 0 && failed === 0 && (
              <p class="empty">No server has asked for an accelerator in the last day.</p>
            )}
            {chart && (bound !== 0 || failed !== 0) && (
              <div class="binds">
                <Chart
                  chart={chart}
                  title="Binds by hour"
                  unit={{ short: '', long: 'binds', isWhole: true }}
                />
              </div>
            )}
          </Section>
        </div>
        <div class="overview-side">
          <Section title="What runs out first">
            <RunsOut
              names={names}
              isWaiting={isWaiting}
              isLarge={isLarge && names.length > 0}
              everyMs={capacityEveryMs}
            />
          </Section>
          <Section title="In use by class">
            <Freshness live={capacity} subject="the capacity" everyMs={capacityEveryMs} />
            <MeasuredSince of={uses.map(({ sum }) => sum)} />
            <Bars
              name="In use by class"
              bars={uses.map(({ name, inUse, all, free }) => ({
                key: name,
                title: name,
                href: addressOf('usage', undefined, { class: name }),
                value: inUse,
                most: all,
                text: `${numberText(inUse)} of ${numberText(all)}`,
                note: `${numberText(free)} free`,
              }))}
            />
          </Section>
          <Projects isWaiting={hosts.isFirst} />
          <Month isWaiting={hosts.isFirst} />
        </div>
      </div>
    </Screen>
  );
}

function NoHosts() {
  return (
    <Screen title="Overview">
      <p class="empty">
        No host has reported yet. A host appears here within a minute of the start of its agent.
      </p>
    </Screen>
  );
}

function HostsTile({ hosts }: { readonly hosts: readonly Host[] }) {
  const states = hostsByState(hosts);
  const others = hostStates.filter((state) => state !== 'online' && states.has(state));
  return (
    <Tile
      title="Hosts online"
      href={addressOf('hosts')}
      value={hosts.length > 0 ? (states.get('online') ?? 0) : undefined}
    >
      {`of ${counted(hosts.length, 'host')}`}
      {others.map((state) => (
        <span key={state}>
          {', '}
          <a href={addressOf('hosts', undefined, { state })}>{`${states.get(state)} ${state}`}</a>
        </span>
      ))}
    </Tile>
  );
}

function Worst() {
  const live = useIncidents();
  const rows = live.data?.rows ?? [];
  const shown = rows.slice(0, worstMax);
  const count = `${rows.length}${live.data?.hasMore ? ' or more' : ''}`;
  return (
    <Section title="Needs attention">
      <Freshness live={live} subject="incidents" everyMs={incidentsEveryMs} />
      {live.data && rows.length === 0 && <p class="empty">Nothing needs attention.</p>}
      <ul class="plain worst" aria-label="The worst incidents">
        {shown.map((incident) => (
          <Line key={JSON.stringify(incident)} incident={incident} />
        ))}
      </ul>
      {rows.length > 0 && (
        <p>
          <a href={addressOf('incidents')}>
            {rows.length === 1 ? 'Show the incident' : `Show all ${count} incidents`}
          </a>
        </p>
      )}
    </Section>
  );
}

function Line({ incident }: { readonly incident: Incident }) {
  const { kind, hostname, device_uuid: device, reason } = incident;
  return (
    <li>
      <p>
        <a href={addressOf('incidents', undefined, { kind, host: hostname })}>
          <StateOf word={kind} />
        </a>{' '}
        on <HostLink hostname={hostname} />
        {device && (
          <>
            , device <DeviceLink uuid={device} />
          </>
        )}
      </p>
      <p class="quiet">{reason}</p>
    </li>
  );
}

interface RunsOutProps {
  readonly names: readonly string[];
  readonly everyMs: number;
  readonly isWaiting: boolean;
  readonly isLarge: boolean;
}

/** Each profile is a reading of all hosts: in a large cloud the user asks for it. */
function RunsOut({ names, everyMs, isWaiting, isLarge }: RunsOutProps) {
  const [isWanted, setWanted] = useState(false);
  const isAsked = isWanted || !isLarge;
  const live = useCapacity(names.map(askForProfile), { everyMs, isWaiting: isWaiting || !isAsked });
  if (!isAsked) {
    return (
      <p>
        <button type="button" onClick={() => setWanted(true)}>
          {`Look at ${counted(names.length, 'profile')} on all hosts`}
        </button>
      </p>
    );
  }
  const sums: Sums = live.data ?? new Map();
  const bars = [...sums]
    .sort(([, one], [, other]) => one.fits - other.fits)
    .slice(0, barsMax)
    .map(([name, { fits, stoppedBy }]) => ({
      key: name,
      title: name,
      href: addressOf('capacity', undefined, { profile: name }),
      value: fits,
      most: Math.max(...[...sums.values()].map((sum) => sum.fits)),
      text: fits === 0 ? 'no more servers' : counted(fits, 'more server'),
      note: fits === 0 && reasonsText(stoppedBy.slice(0, 3)),
    }));
  return (
    <>
      <Freshness live={live} subject="the capacity" everyMs={everyMs} />
      <MeasuredSince of={[...sums.values()]} />
      {!isWaiting && names.length === 0 && <p class="empty">There are no device profiles.</p>}
      <Bars name="Servers that would fit" bars={bars} />
    </>
  );
}
