import { heartbeatSeconds } from '#core/contracts/report/inventory-report.ts';
import type { Deps } from '#core/deps.ts';
import { settled } from '#core/domain/host/identity.ts';
import { ConflictStays } from '#core/domain/operator-errors.ts';

/** A running agent is never silent for longer: its heartbeat is a minute late. */
const silentMs = (heartbeatSeconds + 60) * 1000;

/**
 * Ends a conflict of identity: from now on the host is the boot that the operator names. The
 * host's next report reprovisions bindings of another boot, and offers the devices again. Releases
 * that began meanwhile stay in quarantine.
 *
 * @throws ConflictStays where there is none, the boot is unknown, or another agent still reports
 */
export async function endConflict(deps: Deps, hostname: string, bootId: string): Promise<void> {
  const host = await deps.store.inventory.hostAlone(hostname);
  const { conflict } = host;
  if (!conflict) throw new ConflictStays(`Host ${hostname} is in no conflict of identity.`);
  const chosen = conflict.boots.find((boot) => boot.bootId === bootId.toLowerCase());
  const reported = conflict.boots.map((boot) => `${boot.bootId} (last report ${boot.lastAt})`);
  if (!chosen) {
    throw new ConflictStays(
      `Boot ${bootId} has not reported as ${hostname}; these have: ${reported.join(', ')}.`,
    );
  }
  const nowMs = deps.clock();
  for (const { bootId: other, lastAt } of conflict.boots) {
    const silentAt = Date.parse(lastAt) + silentMs;
    if (other === chosen.bootId || silentAt <= nowMs) continue;
    throw new ConflictStays(
      `Boot ${other} has reported as ${hostname} at ${lastAt}: end its agent, or enrol it as another host. ` +
        `If it stays silent, this can be asked again at ${new Date(silentAt).toISOString()}.`,
    );
  }
  const after = { ...host, ...settled(conflict, chosen, nowMs), epoch: host.epoch + 1 };
  if (!(await deps.store.inventory.endConflict(after, conflict.since))) {
    throw new ConflictStays(`The conflict of host ${hostname} has changed. List it again.`);
  }
  deps.log.warn('Identity conflict ended', { host: hostname, boot: chosen.bootId });
}
