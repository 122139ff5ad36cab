// How long to wait before the next attempt to connect.

const delayMsMin = 1_000;
const delayMsMax = 120_000;

/**
 * "Full jitter" above a floor: after an outage the hosts reconnect at different times.
 *
 * @param failures failed attempts since the last success, from 0
 * @param random in [0, 1)
 */
export function backoffMs(failures: number, random: number): number {
  const ceiling = Math.min(delayMsMax, delayMsMin * 2 ** Math.min(failures + 1, 30));
  return Math.round(delayMsMin + random * (ceiling - delayMsMin));
}
