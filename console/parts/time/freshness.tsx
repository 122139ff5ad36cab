// The time of a screen's data, and why it is not newer.

import { useEffect, useState } from 'preact/hooks';
import { Notice } from '#console/parts/notice.tsx';
import type { Live } from '#console/parts/use-live.ts';
import { ageText, clockText } from './time-text.ts';

/** Older data than this is marked, unless it is read less often. */
const staleMs = 60_000;

interface FreshnessProps {
  readonly live: Live<unknown>;
  readonly subject: string;
  /** The pause between readings, where it is long. */
  readonly everyMs?: number;
}

export function Freshness({ live, subject, everyMs = 0 }: FreshnessProps) {
  const now = useNow(5000);
  const { atMs, data, failure, isFirst, refresh } = live;
  const isOld = atMs !== undefined && (failure !== undefined || now - atMs > staleMs + everyMs);
  return (
    <>
      <p class={isOld ? 'freshness old' : 'freshness'}>
        {atMs !== undefined && `As of ${clockText(atMs)} UTC`}
        {isOld && `, ${ageText(now - atMs)}`}
      </p>
      {data === undefined && (isFirst || failure?.isPassing) && <Skeleton subject={subject} />}
      {/* An outage has its own banner. */}
      {failure && !failure.isPassing && failure.kind !== 'signed-out' && (
        <Notice tone="error" action={{ title: 'Try again', run: refresh }}>
          {failure.message}
        </Notice>
      )}
    </>
  );
}

/** Longer without an answer looks as if nothing were coming. */
const silenceMs = 3000;

/** In place of what is still being read; a word after a while says that it is. */
function Skeleton({ subject }: { readonly subject: string }) {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), silenceMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton">
      <i />
      <i />
      <i />
      <p role="status" class="quiet">
        {isLong && `Still reading ${subject}.`}
      </p>
    </div>
  );
}

export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const id = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(id);
  }, [everyMs]);
  return now;
}
