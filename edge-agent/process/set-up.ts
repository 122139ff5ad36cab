// Brings the host to the state that the settings ask for: applies what a driver plans, one change
// after the other, so that an operator can follow each of them in the log.

import type { Driver, HostChange, HostDifference } from '#agent/drivers/contract/driver.ts';
import { type Log, reasonOf } from '#agent/log.ts';

/** A change makes others possible at most twice: functions exist, are bound, are divided. */
const plansMax = 4;

const withoutEffect = 'the change was applied without an effect';

export interface SetUpEnd {
  /** What the host has now. */
  readonly applied: readonly HostDifference[];
  /** A sentence for each part that the host does not have. */
  readonly left: readonly string[];
}

/**
 * Never rejects. A change that fails does not stop the others, and is tried once in each call.
 *
 * @param isHeld whether something else has the function now, so that it stays as it is
 */
export async function setUp(
  driver: Driver,
  log: Log,
  isHeld: (address: string) => boolean = () => false,
): Promise<SetUpEnd> {
  const applied: HostDifference[] = [];
  const failed = new Map<string, Failure>();
  const tried = new Set<string>();
  for (let plans = 1; ; plans += 1) {
    const planned = await readPlan(driver);
    if ('fault' in planned) return { applied, left: [planned.fault] };
    const changes = planned.changes.filter(({ address }) => !isHeld(address));
    const next = changes.filter((each) => isApplicable(each) && !tried.has(changeKey(each)));
    if (next.length === 0 || plans === plansMax) {
      const left = changes.map((each) => {
        const untried = tried.has(changeKey(each)) ? withoutEffect : 'it waits for the next set-up';
        return toRefused(each, failed.get(changeKey(each))?.reason ?? untried);
      });
      const needed = new Set(changes.map(changeKey));
      for (const key of needed) failed.delete(key);
      // The host is as wanted nevertheless, so that no later attempt shows the reason.
      for (const { fields, reason } of failed.values()) {
        log.warn('Host change failed', { driver: driver.name, ...fields, reason });
      }
      return { applied: applied.filter((each) => !needed.has(changeKey(each))), left };
    }
    for (const change of next) {
      const { address, what, before, after } = change;
      const fields = { address, what, before, after };
      tried.add(changeKey(change));
      try {
        if (isApplicable(change)) await change.apply();
        log.info('Host changed', { driver: driver.name, ...fields });
        applied.push(fields);
      } catch (error) {
        failed.set(changeKey(change), { fields, reason: reasonOf(error) });
      }
    }
  }
}

interface Failure {
  readonly fields: HostDifference;
  readonly reason: string;
}

/** Turns what the driver throws, also synchronously, into a sentence. */
export async function readPlan(
  driver: Driver,
): Promise<{ readonly changes: readonly HostChange[] } | { readonly fault: string }> {
  try {
    return { changes: (await driver.plan?.()) ?? [] };
  } catch (error) {
    return { fault: ended(`The driver ${driver.name} cannot plan: ${reasonOf(error)}`) };
  }
}

function isApplicable(change: HostChange): change is Extract<HostChange, { apply: unknown }> {
  return 'apply' in change;
}

function describeDifference({ address, what, before, after }: HostDifference): string {
  return `The ${what} of ${address} is ${before}, not ${after}`;
}

/** A sentence, with the reason where the change cannot be applied now. */
export function describeChange(change: HostChange): string {
  const difference = describeDifference(change);
  return ended(isApplicable(change) ? difference : `${difference}: ${change.refusal}`);
}

function toRefused(change: HostChange, reason: string): string {
  return isApplicable(change)
    ? ended(`${describeDifference(change)}: ${reason}`)
    : describeChange(change);
}

function ended(sentence: string): string {
  return /[.?]$/.test(sentence) ? sentence : `${sentence}.`;
}

function changeKey({ address, what }: HostDifference): string {
  return `${address} ${what}`;
}
