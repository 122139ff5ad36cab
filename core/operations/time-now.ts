/** The time of a change, or of `afterMs` later, as rows have it: ISO 8601 with milliseconds. */
export function timeNow(deps: { clock: () => number }, afterMs = 0): string {
  return new Date(deps.clock() + afterMs).toISOString();
}
