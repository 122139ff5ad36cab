import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { type ComparedPart, comparePart } from '#core/operations/placement/compare-host.ts';

/** The gateway waits for 30 s; each device is a few requests to Placement. */
const compareMs = 15_000;

/** Compares as many devices of the host as one answer has time for. @throws HostNotFound */
export async function compareInTime(
  deps: ConsumerDeps,
  hostname: string,
  after: string | undefined,
): Promise<ComparedPart> {
  await findHost(deps, hostname);
  return comparePart(deps, hostname, { after, untilMs: deps.clock() + compareMs });
}
