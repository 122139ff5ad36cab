// What happened in the whole fleet, the newest record first.

import { kindText } from '#console/devices/record-text.ts';
import { Records } from '#console/devices/timeline.tsx';
import { Filters } from '#console/parts/list/filters.tsx';
import { PartialList, useList } from '#console/parts/list/live-list.tsx';
import { Screen } from '#console/parts/screen.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { dayAfter } from '#console/parts/time/time-text.ts';
import type { ScreenProps } from '#console/routes.ts';
import { type ListRow, lists } from '#core/contracts/api/lists/lists.ts';

const everyMs = 10_000;
const rowsMax = 100;

const { order: _order, ...filters } = lists.history.filters;
/** Without one of them, or of the kind bind.failed, the API answers for a time only. */
const subjects = ['device', 'host', 'project', 'instance', 'arq', 'profile'];
const titles = {
  instance: 'Server',
  arq: 'ARQ',
  project: 'Project id',
  user: 'User id',
  from: 'From day',
  to: 'To day',
};

export function HistoryScreen({ route }: ScreenProps) {
  const { from, to, kind } = route.filters;
  // An exact time, which a link has, is not a day of the form.
  const isDay = to !== undefined && /^\d{4}-\d\d-\d\d$/.test(to);
  const chosen = Object.keys(filters).map((name) => [name, route.filters[name]]);
  const query = { ...Object.fromEntries(chosen), from, to: isDay ? dayAfter(to) : to };
  const list = useList('history', { everyMs, rowsMax, query });
  const hasSubject = subjects.some((name) => route.filters[name]);
  return (
    <Screen title="History">
      <Filters
        route={route}
        filters={filters}
        titles={titles}
        choiceText={(kind) => kindText(kind as ListRow<'history'>['kind'])}
      />
      {!hasSubject && !from && kind !== 'bind.failed' && (
        <p class="quiet">Of the last day, unless a first day is given.</p>
      )}
      <Freshness live={list} subject="the history" />
      {list.data && (
        <div class="panel">
          <Records records={list.rows} namesDevices namesHosts />
        </div>
      )}
      <PartialList list={list} row="record" />
    </Screen>
  );
}
