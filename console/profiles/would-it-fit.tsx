// How many servers with the groups of a draft would fit now.

import { useState } from 'preact/hooks';
import type { Capacity, HostCapacity } from '#console/api/answers.ts';
import { type ApiFailure, asFailure } from '#console/api/failure.ts';
import { readAll } from '#console/api/pages.ts';
import { capacitySum } from '#console/capacity/capacity-sum.ts';
import { Notice } from '#console/parts/notice.tsx';
import { missingText, reasonsText } from '#console/parts/text.ts';
import { counted, timeText } from '#console/parts/time/time-text.ts';
import { useSession } from '#console/session/session.ts';

type Groups = readonly Readonly<Record<string, string | number>>[];

interface FitAnswer {
  /** Groups of the request; the answer for other groups is not shown. */
  readonly text: string;
  readonly sentence?: string;
  readonly failure?: ApiFailure;
}

export function WouldItFit({ groups }: { readonly groups: Groups }) {
  const { api, isOperator } = useSession();
  const [answer, setAnswer] = useState<FitAnswer>();
  const [isBusy, setBusy] = useState(false);
  const text = JSON.stringify(groups);
  const query = { groups: text };
  const path = '/operator/v1/capacity';

  async function ask() {
    setBusy(true);
    try {
      const sentence = isOperator
        ? describeFit(await readAll<HostCapacity>(api, { path, collection: 'hosts', query }))
        : describeAvailability(await api.ask<Capacity>('GET', path, { query }));
      setAnswer({ text, sentence });
    } catch (error) {
      setAnswer({ text, failure: asFailure(error) });
    }
    setBusy(false);
  }

  const shown = answer?.text === text ? answer : undefined;
  return (
    <div class="stack">
      <button type="button" disabled={isBusy} onClick={ask}>
        {isBusy ? 'Looking at the hosts...' : 'Would it fit?'}
      </button>
      {shown?.sentence && <Notice tone="information">{shown.sentence}</Notice>}
      {shown?.failure && <Notice tone="error">{shown.failure.message}</Notice>}
    </div>
  );
}

/** A large cloud is as it was measured. */
const timeOf = (measuredAt: string | null | undefined) =>
  measuredAt ? `, as measured since ${timeText(measuredAt)} UTC` : ' now';

function describeFit({
  rows,
  failure,
  measuredAt,
  missing,
}: Awaited<ReturnType<typeof readAll<HostCapacity>>>): string {
  const { fits, stoppedBy } = capacitySum(rows);
  const hosts = rows.filter((row) => row.fits > 0).length;
  const stops = stoppedBy.length > 0 ? ` Stopped: ${reasonsText(stoppedBy)}.` : '';
  const rest = failure ? ` The other hosts could not be read: ${failure.message}` : '';
  const time = timeOf(measuredAt);
  const lacks = missing ? ` ${missingText(missing)}` : '';
  const none = `No server with this profile would fit${time}.`;
  const some = `${counted(fits, 'server')} with this profile would fit${time}, on ${counted(hosts, 'host')}.`;
  return `${fits === 0 ? none : some}${lacks}${stops}${rest}`;
}

function describeAvailability(answer: Capacity): string {
  if (!('availability' in answer)) return '';
  const time = timeOf(answer.measured_at);
  return answer.availability === 'none'
    ? `No server with this profile would fit${time}.`
    : `Servers with this profile would fit${time}: ${answer.availability}.`;
}
