// Says that the API does not answer, since when, and when it is asked again.

import { useEffect, useState } from 'preact/hooks';
import { Notice } from './parts/notice.tsx';
import { useNow } from './parts/time/freshness.tsx';
import { clockText, counted } from './parts/time/time-text.ts';
import { useSession } from './session/session.ts';

export function OutageBanner() {
  const { connection } = useSession();
  const [outage, setOutage] = useState(connection.outage);
  useEffect(() => connection.onChange(() => setOutage(connection.outage)), [connection]);
  if (!outage) return null;
  const { sinceMs, sentence, retryAtMs } = outage;
  return (
    <div class="outage">
      <Notice tone="error" action={{ title: 'Try now', run: () => connection.retryNow() }}>
        {sentence} Since {clockText(sinceMs)} UTC what you see may be out of date.
      </Notice>
      {retryAtMs !== undefined && <NextTry atMs={retryAtMs} />}
    </div>
  );
}

/** Apart from the notice, which would be announced each second. */
function NextTry({ atMs }: { readonly atMs: number }) {
  const seconds = Math.max(0, Math.ceil((atMs - useNow(1000)) / 1000));
  return <p class="quiet">{`Next try in ${counted(seconds, 'second')}.`}</p>;
}
