// All hosts and devices by state, in one view.

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { hostsWith } from '#console/hosts/search.ts';
import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { PartialList } from '#console/parts/list/live-list.tsx';
import { HostLink } from '#console/parts/names/links.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { harmlessText } from '#console/parts/text.ts';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { counted, numberText } from '#console/parts/time/time-text.ts';
import { addressOf } from '#console/routes.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import { dotStates, dotText, type FleetMap, fleetCounts, type Tile } from './fleet-map.ts';
import type { Grouping } from './groups.ts';
import { MapCanvas } from './map-canvas.tsx';
import { SelectedHost } from './selected-host.tsx';
import { useFleet } from './use-fleet.ts';
import { usePalette } from './use-palette.ts';
import { aspectOfMap } from './view.ts';

export function FleetScreen() {
  const aspect = useAspect();
  const [grouping, setGrouping] = useState<Grouping>();
  const { hosts, devices, map, by, groupings } = useFleet(aspect, grouping);
  const [text, setText] = useState('');
  const [selected, setSelected] = useState<string>();
  const { palette, legend } = usePalette();
  const matches = useMemo(() => hostsWith(hosts.rows, text), [hosts.rows, text]);
  const isDimmed = useMemo(() => {
    if (matches.length === hosts.rows.length) return () => false;
    const names = new Set(matches.map(({ hostname }) => hostname));
    return ({ hostname }: Tile) => !names.has(hostname);
  }, [matches, hosts.rows]);
  const open = useCallback((hostname: string) => {
    location.hash = addressOf('hosts', hostname);
  }, []);

  return (
    <Screen title="Fleet" actions={<a href={addressOf('hosts')}>Show as a list</a>}>
      <search>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault();
            setSelected(matches[0]?.hostname);
          }}
        >
          <Field label="Find a host" name="host" type="search" value={text} onInput={setText} />
          <button type="submit">Find</button>
          {groupings.length > 1 && (
            <Choice
              label="Group by"
              value={by}
              options={groupings.map((each) => [each, groupingTitles[each]])}
              onChange={(each) => setGrouping(each as Grouping)}
            />
          )}
          <p role="status" class="quiet">
            {text.trim() !== '' &&
              `${counted(matches.length, 'host')} of ${numberText(hosts.rows.length)}`}
          </p>
        </form>
      </search>
      <Freshness live={hosts} subject="hosts" />
      <PartialList list={hosts} row="host" />
      <PartialList list={devices} row="device" />
      <div class="panel">
        <div ref={legend} class="stack">
          <Legend map={map} />
        </div>
        {hosts.data && hosts.rows.length === 0 && <p class="empty">No host has reported yet.</p>}
        {hosts.rows.length > 0 && palette && (
          <MapCanvas
            key={by}
            map={map}
            palette={palette}
            isDimmed={isDimmed}
            selected={selected}
            onSelect={setSelected}
            onOpen={open}
          />
        )}
      </div>
      <div role="status">
        {selected !== undefined && (
          <p>
            <HostLink hostname={selected} />: {tileText(map, selected)}
          </p>
        )}
      </div>
      {selected !== undefined && <SelectedHost key={selected} hostname={selected} />}
    </Screen>
  );
}

const groupingTitles: Readonly<Record<Grouping, string>> = {
  zone: 'availability zone',
  aggregate: 'aggregate',
  none: 'nothing',
};

function useAspect(): number {
  const read = () => aspectOfMap({ width: innerWidth, height: innerHeight });
  const [aspect, setAspect] = useState(read);
  useEffect(() => {
    const onResize = () => setAspect(read());
    addEventListener('resize', onResize);
    return () => removeEventListener('resize', onResize);
  }, []);
  return aspect;
}

/** Also where the map has its colours from. */
function Legend({ map }: { readonly map: FleetMap }) {
  const { hosts, dots } = useMemo(() => fleetCounts(map), [map]);
  return (
    <>
      <ul class="legend" aria-label="Hosts by state">
        {hostStates.map((state) => (
          <li key={state}>
            <span class={`mark host-${state}`} data-host={state} aria-hidden="true" />
            {state}: {numberText(hosts.get(state) ?? 0)}
          </li>
        ))}
      </ul>
      <ul class="legend" aria-label="Devices by state">
        {dotStates.map((state) => (
          <li key={state}>
            <span class={`mark dot-${state}`} data-dot={state} aria-hidden="true" />
            {dotText(state)}: {numberText(dots.get(state) ?? 0)}
          </li>
        ))}
      </ul>
      {map.labelHeight > 0 && (
        <ul class="legend" aria-label="Hosts by group">
          {map.bands.map(({ name = '', count }) => (
            <li key={name}>
              <bdi>{harmlessText(name)}</bdi>: {numberText(count)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function tileText({ tiles }: FleetMap, hostname: string): string {
  const tile = tiles.find((each) => each.hostname === hostname);
  if (!tile) return 'no longer listed';
  const group = tile.group === undefined ? '' : `, ${harmlessText(tile.group)}`;
  return `${tile.state}, ${counted(tile.dots.length, 'device')}${group}`;
}
