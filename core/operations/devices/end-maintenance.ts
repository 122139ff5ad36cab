import type { Deps } from '#core/deps.ts';
import { sweeper } from '#core/domain/change-note.ts';
import { activeDrain } from '#core/domain/host/host-state.ts';
import { timeNow } from '../time-now.ts';
import { storedProviders } from './set-device-status.ts';

/**
 * Enables the devices whose maintenance has ended. The index may lag, and a status may change
 * meanwhile: each device is read, and enabled on the condition that it is still as it was read.
 */
export async function endMaintenance(deps: Deps): Promise<void> {
  const { inventory } = deps.store;
  const now = timeNow(deps);
  const places = await deps.listings.endedMaintenance(now);
  for (const [hostname, ended] of Map.groupBy(places, (place) => place.hostname)) {
    const { devices, host } = await inventory.host(hostname);
    const due = new Set(ended.map(({ uuid }) => uuid));
    for (const device of devices.filter(({ uuid }) => due.has(uuid))) {
      const until = device.statusChange?.until;
      if (device.status !== 'maintaining' || until === undefined || until > now) continue;
      const providers = await storedProviders(deps, device.providers);
      const change = { status: 'enabled', by: sweeper, at: now } as const;
      if (await inventory.changeStatus({ ...device, providers }, change)) {
        deps.log.info('Maintenance ended', { host: hostname, device: device.uuid });
      }
    }
    if (host.drain && !activeDrain(host, deps.clock())) {
      await inventory.endDrain(hostname, host.drain.at);
    }
  }
}
