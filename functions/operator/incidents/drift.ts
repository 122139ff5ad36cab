import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { driftIncident, type Incident } from '#core/domain/history/incidents.ts';
import { compareInTime } from '#functions/operator/compare-in-time.ts';
import type { Page } from '#functions/operator/page.ts';

/**
 * Differences of Placement and the host's last report from the stored rows, compared for the
 * answer, a few requests to Placement for each device, so a page is what there is time for.
 *
 * @throws InvalidInput without a host, HostNotFound
 */
export async function readDrift(
  deps: ConsumerDeps,
  hostname: string | undefined,
  after: string | undefined,
): Promise<Page<Incident>> {
  if (hostname === undefined) {
    throw new InvalidInput(
      'host: is needed with kind drift, because the host is compared with Placement for the answer.',
    );
  }
  const { rows, next } = await compareInTime(deps, hostname, after);
  const differing = rows.filter(({ agrees }) => !agrees);
  return { rows: differing.map((row) => driftIncident(hostname, row)), next };
}
