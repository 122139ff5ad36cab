// Sections of the overview that sum over time: what projects use, and the fleet of the month.

import { NameText } from '#console/parts/names/name.tsx';
import { Section } from '#console/parts/screen.tsx';
import { Freshness } from '#console/parts/time/freshness.tsx';
import { numberText } from '#console/parts/time/time-text.ts';
import { addressOf } from '#console/routes.ts';
import { modelsOf, useByProject } from './fleet-use.ts';
import { Bars, barsMax } from './tiles.tsx';
import { reportEveryMs, usageEveryMs, useLastHour, useReport } from './use-overview.ts';

export function Projects({ isWaiting }: { readonly isWaiting: boolean }) {
  const live = useLastHour(isWaiting);
  const uses = live.data ? useByProject(live.data) : [];
  const bars = uses.slice(0, barsMax).map(({ projectId, accelerators }) => ({
    key: projectId,
    title: <NameText kind="projects" id={projectId} />,
    href: addressOf('usage', undefined, { project: projectId }),
    value: accelerators,
    most: uses[0]?.accelerators ?? 0,
  }));
  return (
    <Section title="In use by project">
      <Freshness live={live} subject="the usage" everyMs={usageEveryMs} />
      {live.data && uses.length === 0 && (
        <p class="empty">No accelerator was in use in the last hour.</p>
      )}
      <Bars name="In use by project" bars={bars} />
      {uses.length > 0 && <p class="quiet">Accelerators, as an average of the last hour.</p>}
    </Section>
  );
}

export function Month({ isWaiting }: { readonly isWaiting: boolean }) {
  const live = useReport(isWaiting);
  const models = live.data ? modelsOf(live.data.report) : [];
  const bars = models.slice(0, barsMax).map((each) => ({
    key: each.model,
    title: each.model,
    href: addressOf('usage'),
    value: each.inUse,
    most: each.handles,
    text: `${numberText(each.inUse)} of ${numberText(each.handles)} in use`,
    note: `${numberText(each.healthy)} of ${numberText(each.devices)} devices healthy, ${numberText(each.reserved)} handles reserved`,
  }));
  return (
    <Section title="This month by model">
      <Freshness live={live} subject="the report" everyMs={reportEveryMs} />
      {live.data && models.length === 0 && (
        <p class="empty">No day of this month has been measured yet.</p>
      )}
      <Bars name="This month by model" bars={bars} />
      {models.length > 0 && <p class="quiet">Means of the days; cyborg-ops report has each day.</p>}
    </Section>
  );
}
