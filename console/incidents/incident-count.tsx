// How many incidents are open, beside the title of their screen.

import { useEffect, useState } from 'preact/hooks';
import { countText, type IncidentPage } from '#console/parts/text.ts';
import { useLive } from '#console/parts/use-live.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';

const everyMs = 60_000;
/** After the requests of the first view. */
const firstMs = 2000;
/** One request reads and counts, however many there are. */
const limit = 100;

export function IncidentCount() {
  const [isWaiting, setWaiting] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setWaiting(false), firstMs);
    return () => clearTimeout(timer);
  }, []);
  const { data } = useLive<IncidentPage>(
    'number of incidents',
    { everyMs, isWaiting },
    ({ session, signal }) =>
      session.api.ask('GET', lists.incidents.path, { query: { limit }, signal }),
  );
  const text = data && countText(data);
  return text ? <span class="count">{text}</span> : null;
}
