// Faults of devices as the cloud shows them, and the seconds until it does. The agent of the suite
// discovers every five seconds, and reads the kernel's log every two.

import { eventually } from '#test/support/suites/rest.ts';
import type { Stage } from './stage.ts';

/** Waits as {@link eventually}, and returns how long: `2.3 s`. */
async function secondsUntil<T>(
  read: () => Promise<T>,
  holds: (value: T) => boolean,
  withinSeconds: number,
): Promise<string> {
  return await timed(eventually(read, holds, withinSeconds));
}

export async function timed(event: Promise<unknown>): Promise<string> {
  const from = performance.now();
  await event;
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

/** @returns the seconds until an incident of the host has the text */
export async function untilIncident(
  { cloud, hostname }: Stage,
  text: string,
  withinSeconds = 60,
): Promise<string> {
  const has = (reasons: readonly string[]) => reasons.some((reason) => reason.includes(text));
  return await secondsUntil(() => cloud.incidentsOf(hostname), has, withinSeconds);
}

/**
 * @returns the seconds until no incident has it. A fault that is over has the text only in what a
 *   device had before, while the cloud watches it for ten minutes.
 */
export async function untilNoIncident(
  { cloud, hostname }: Stage,
  text: string,
  withinSeconds = 120,
): Promise<string> {
  const isOver = (reasons: readonly string[]) =>
    reasons.every((reason) => !reason.includes(text) || reason.includes(' without a fault since '));
  return await secondsUntil(() => cloud.incidentsOf(hostname), isOver, withinSeconds);
}

/** @returns the seconds until a device of the host has this health, or one with it is gone */
export async function untilHealth(
  { cloud, hostname }: Stage,
  reason: string,
  isThere = true,
): Promise<string> {
  const holds = (reasons: readonly string[]) => reasons.includes(reason) === isThere;
  return await secondsUntil(() => cloud.healthOf(hostname), holds, 120);
}
