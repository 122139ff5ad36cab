// How long accelerators were used, by project or class and day.

import { useMemo, useState } from 'preact/hooks';
import type { Usage, UsageRow } from '#console/api/answers.ts';
import { Choice, Field } from '#console/parts/dialog/field.tsx';
import { listColumns, listKey } from '#console/parts/list/list-columns.tsx';
import { NameText } from '#console/parts/names/name.tsx';
import { Screen, Section } from '#console/parts/screen.tsx';
import { type Column, Table } from '#console/parts/table/table.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { dayAfter, numberText } from '#console/parts/time/time-text.ts';
import { useLive } from '#console/parts/use-live.ts';
import { addressOf, type ScreenProps } from '#console/routes.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { Chart } from './chart.tsx';
import { usageCsv } from './csv.ts';
import { type Grouping, otherSeries, usageChart } from './series.ts';

const everyMs = 60_000;

export function UsageScreen({ route: { filters } }: ScreenProps) {
  const [by, setBy] = useState<Grouping>('project');
  const query = {
    from: filters.from,
    // The API's range ends before `to`; the last day of the form belongs to it.
    to: filters.to && dayAfter(filters.to),
    project: filters.project,
    resource_class: filters.class,
  };
  const live = useLive<Usage>(
    JSON.stringify(['usage', query]),
    { everyMs },
    ({ session, signal }) => session.api.ask('GET', lists.usage.path, { query, signal }),
  );
  const rows = live.data?.usage ?? [];
  const chart = useMemo(
    () => live.data && usageChart(live.data.usage, by, live.data),
    [live.data, by],
  );
  return (
    <Screen
      title="Usage"
      actions={
        <button type="button" disabled={rows.length === 0} onClick={() => download(rows)}>
          Download CSV
        </button>
      }
    >
      <search>
        <form class="filters" onSubmit={filter}>
          <Field label="From" name="from" type="date" value={filters.from ?? ''} />
          <Field label="To" name="to" type="date" value={filters.to ?? ''} />
          <Field label="Project id" name="project" value={filters.project ?? ''} />
          <Field label="Resource class" name="class" value={filters.class ?? ''} />
          <button type="submit">Show</button>
        </form>
      </search>
      <Freshness live={live} subject="usage" />
      {chart && (
        <>
          <Section title="Accelerator-hours by day">
            <Choice
              label="Group by"
              value={by}
              options={[
                ['project', 'Project'],
                ['class', 'Resource class'],
              ]}
              onChange={(value) => setBy(value as Grouping)}
            />
            <Chart
              chart={chart}
              title={`Accelerator-hours by ${by} and day`}
              nameOf={by === 'project' ? projectName : (name) => name}
            />
          </Section>
          <Section title="Rows">
            <Table
              name="Usage"
              rows={rows}
              columns={columns}
              keyOf={listKey('usage')}
              order={{ column: 'Day', isDescending: true }}
              empty="No accelerator was used in this time."
            />
          </Section>
        </>
      )}
    </Screen>
  );
}

function projectName(id: string) {
  return id === otherSeries ? id : <NameText kind="projects" id={id} />;
}

function filter(event: SubmitEvent): void {
  event.preventDefault();
  const form = new FormData(event.currentTarget as HTMLFormElement);
  const text = (name: string) => String(form.get(name) ?? '').trim();
  location.hash = addressOf('usage', undefined, {
    from: text('from'),
    to: text('to'),
    project: text('project'),
    class: text('class').toUpperCase(),
  });
}

function download(rows: readonly UsageRow[]): void {
  const url = URL.createObjectURL(new Blob([usageCsv(rows)], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'usage.csv';
  link.click();
  URL.revokeObjectURL(url);
}

const columns: readonly Column<UsageRow>[] = [
  ...listColumns('usage', ['day', 'project_id', 'resource_class']),
  {
    title: 'Accelerator-hours',
    cell: (row) => numberText(row.accelerator_seconds / 3600),
    sortBy: (row) => row.accelerator_seconds,
    isNumber: true,
  },
  ...listColumns('usage', ['accelerator_seconds'], {
    accelerator_seconds: {
      cell: (row) => numberText(row.accelerator_seconds),
      isNumber: true,
    },
  }),
];
