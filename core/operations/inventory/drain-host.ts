// Maintenance of a whole host: its devices are disabled at once, and enabled at once. Devices that
// were disabled one by one stay as they are.

import type { Deps } from '../../deps.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Device, StatusChange } from '../../domain/device.ts';
import { HostNotDrained } from '../../domain/operator-errors.ts';
import { forEachAtOnce } from '../for-each-at-once.ts';
import { contended, untilWritten } from '../optimistic-writes.ts';
import { findHost } from './find-host.ts';
import { presentOf } from './set-device-status.ts';

const devicesAtOnce = 8;
const roundsMax = 5;

export interface Drained {
  /** Devices that the drain holds in maintenance. */
  readonly devices: readonly Device[];
  /** Devices in maintenance by changes of their own. */
  readonly others: readonly Device[];
}

/**
 * Disables all devices of the host: no new bind gets a handle of them. Bound ARQs stay bound.
 * Repeatable; another reason or end replaces that of an earlier drain.
 *
 * @throws HostNotFound
 */
export async function drainHost(
  deps: Deps,
  caller: Caller,
  hostname: string,
  { reason, until }: { readonly reason: string; readonly until?: string | undefined },
): Promise<Drained> {
  await findHost(deps, hostname);
  await changeEach(deps, hostname, (device) => {
    const { statusChange: was } = device;
    const isSame = isDrained(device) && was?.reason === reason && was.until === until;
    if (isSame || !(device.status === 'enabled' || isDrained(device))) return undefined;
    const change = changeBy(deps, caller, 'maintaining');
    return { ...change, reason, drain: true, ...(until && { until }) };
  });
  deps.log.info('Host drained.', { host: hostname, by: caller.userId, reason, until });
  return drainedOf(deps, hostname);
}

/**
 * Enables the devices that the drain disabled.
 *
 * @throws HostNotFound, HostNotDrained
 */
export async function resumeHost(
  deps: Deps,
  caller: Caller,
  hostname: string,
): Promise<readonly Device[]> {
  const devices = presentIn((await findHost(deps, hostname)).devices);
  const drained = devices.filter(isDrained);
  if (drained.length === 0) {
    const enabled = devices.filter(({ status }) => status === 'enabled').length;
    throw new HostNotDrained(hostname, enabled, devices.length - enabled);
  }
  await changeEach(deps, hostname, (device) =>
    isDrained(device) ? changeBy(deps, caller, 'enabled') : undefined,
  );
  deps.log.info('Host resumed.', { host: hostname, by: caller.userId });
  return drained;
}

function isDrained({ status, statusChange }: Device): boolean {
  return status === 'maintaining' && statusChange?.drain === true;
}

async function drainedOf(deps: Deps, hostname: string): Promise<Drained> {
  const devices = presentIn((await deps.store.inventory.host(hostname)).devices);
  const disabled = devices.filter(({ status }) => status === 'maintaining');
  return {
    devices: disabled.filter(isDrained),
    others: disabled.filter((device) => !isDrained(device)),
  };
}

function presentIn(devices: readonly Device[]): readonly Device[] {
  return devices.filter(({ isGone }) => !isGone);
}

/**
 * Changes the devices for which there is a change. A device that another writer changes meanwhile
 * is read and decided again.
 */
async function changeEach(
  deps: Deps,
  hostname: string,
  changeFor: (device: Device) => StatusChange | undefined,
): Promise<void> {
  const { inventory } = deps.store;
  const { devices: read } = await inventory.host(hostname);
  await forEachAtOnce(presentIn(read), devicesAtOnce, async (first) => {
    await untilWritten(
      roundsMax,
      async (round) => {
        const again = async () =>
          (await inventory.host(hostname)).devices.find(({ uuid }) => uuid === first.uuid);
        const device = round === 1 ? first : await again();
        const change = device && changeFor(device);
        if (!change) return undefined;
        const providers = await presentOf(deps, device.providers);
        const isChanged = await inventory.changeStatus({ ...device, providers }, change);
        return isChanged ? undefined : contended;
      },
      () => new Error(`The status of device ${first.uuid} was not set in ${roundsMax} rounds.`),
    );
  });
}

function changeBy(deps: Deps, caller: Caller, status: Device['status']): StatusChange {
  const at = new Date(deps.clock()).toISOString();
  return { status, by: caller.userId, at, requestId: caller.requestId };
}
