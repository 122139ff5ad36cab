// Since when a device is in a state of health: the kernel counts errors and shows links without
// times, and a report must be the same while nothing changes.

import type { Clock } from '#agent/clock.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

type Health = NonNullable<ReportedDevice['health']>;
export type UndatedHealth = Omit<Health, 'since'>;

/** Dates by address, which the agent forgets when it ends. */
export function createDates({ clock }: { readonly clock: Clock }) {
  const began = new Map<string, { readonly reason: string; readonly since: string }>();
  return (address: string, health: UndatedHealth | undefined): Health | undefined => {
    if (!health) {
      began.delete(address);
      return undefined;
    }
    const { reason } = health;
    const before = began.get(address);
    const now = new Date(clock.wallMs()).toISOString();
    const since = before?.reason === reason ? before.since : now;
    began.set(address, { reason, since });
    return { ...health, since };
  };
}
