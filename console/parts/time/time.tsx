// Times, in UTC as in the API and on the command line.

import { None } from '#console/parts/status.tsx';
import { ageText, timeText } from './time-text.ts';

/** @param at ISO 8601 */
export function Time({ at }: { readonly at: string | null | undefined }) {
  if (!at) return <None />;
  return (
    <time dateTime={at} title={ageText(Date.now() - Date.parse(at))}>
      {timeText(at)}
    </time>
  );
}
