// The lease on a host's reports: one consumer at a time has it.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Violate } from '#simulation/violation.ts';

type Watch = (deps: ConsumerDeps) => ConsumerDeps;

/** I5: no other consumer takes the lease or stores a report while its holder works. */
export function watchLeases(violate: Violate): Watch {
  const leases = new Map<string, { readonly holder: string; readonly until: string }>();
  return (deps) => {
    const { inventory } = deps.store;
    const watched: typeof inventory = {
      ...inventory,
      takeLease: async (hostname, holder, now, until) => {
        const isTaken = await inventory.takeLease(hostname, holder, now, until);
        const other = leases.get(hostname);
        if (isTaken && other && other.holder !== holder && other.until > now) {
          violate('I5', `two consumers work on the reports of ${hostname}`);
        }
        if (isTaken) leases.set(hostname, { holder, until });
        return isTaken;
      },
      putReport: async (host, holder, next = holder) => {
        const isPut = await inventory.putReport(host, holder, next);
        const now = new Date(deps.clock()).toISOString();
        const other = leases.get(host.hostname);
        if (isPut && other && other.holder !== next && other.until > now) {
          violate('I5', `a report of ${host.hostname} is stored while another is applied`);
        }
        return isPut;
      },
      endLease: (hostname, holder) => {
        if (leases.get(hostname)?.holder === holder) leases.delete(hostname);
        return inventory.endLease(hostname, holder);
      },
    };
    return { ...deps, store: { ...deps.store, inventory: watched } };
  };
}
