// A host out of service: its devices are disabled at once, and enabled at once. Devices that were
// disabled one by one stay as they are.

import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { sweeper } from '#core/domain/change-note.ts';
import type { Device, StatusChange } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { Drain } from '#core/domain/host/host-state.ts';
import { HostNotDrained } from '#core/domain/operator-errors.ts';
import { storedProviders } from '#core/operations/devices/set-device-status.ts';
import { devicesAtOnce, forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { present } from '#core/shapes/derive/present.ts';
import { timeNow } from '../time-now.ts';
import { findHost } from './find-host.ts';

interface Drained {
  /** Devices that the drain has disabled. */
  readonly devices: readonly Device[];
  /** Devices disabled by changes of their own. */
  readonly others: readonly Device[];
}

/**
 * Disables all devices of the host, and those that it reports later: no new bind gets a handle of
 * them. Bound ARQs stay bound. Repeatable; another reason or end replaces that of an earlier
 * drain.
 *
 * @throws HostNotFound
 */
export async function drainHost(
  deps: Deps,
  caller: Caller,
  hostname: string,
  { reason, until }: { readonly reason: string; readonly until?: string | undefined },
): Promise<Drained> {
  const { host } = await findHost(deps, hostname);
  const active = host.drain;
  const isSame = active?.reason === reason && active.until === until;
  const { status: _status, ...change } = changeBy(deps, caller, 'maintaining');
  const drain = isSame ? active : { ...change, reason, ...present({ until }) };
  // First: a host whose drain was interrupted reads drained, and the same request completes it.
  if (!isSame) await deps.store.inventory.putDrain(hostname, drain);
  await changeEach(deps, hostname, (device, now) => {
    const isOwn = device.status === 'enabled' || isDrained(device);
    const isDue = !device.isGone && isOwn && device.statusChange?.at !== drain.at;
    return isDue && stands(drain, now) ? toStatusChange(drain) : undefined;
  });
  deps.log.info('Host drained', { host: hostname, by: caller.userId, reason, until });
  return readDrained(deps, hostname);
}

/** Disables devices that a drained host has reported since. */
export async function drainLater(deps: Deps, host: StoredHost): Promise<void> {
  const { hostname, drain } = host;
  if (!drain) return;
  await changeEach(deps, hostname, (device, now) =>
    isReportedLater(device, drain) && stands(drain, now) ? toStatusChange(drain) : undefined,
  );
  // A resume that came meanwhile may have read the device before it was disabled.
  if (stands(drain, await deps.store.inventory.hostAlone(hostname))) return;
  const at = timeNow(deps);
  await changeEach(deps, hostname, (device) =>
    isDrained(device) && device.statusChange?.at === drain.at
      ? { status: 'enabled', by: sweeper, at }
      : undefined,
  );
}

/** Whether no resume and no other drain came since. */
function stands({ at }: Drain, host: StoredHost): boolean {
  return host.drain?.at === at;
}

export function lacksDrain({ drain }: StoredHost, devices: readonly Device[]): boolean {
  return drain !== undefined && devices.some((device) => isReportedLater(device, drain));
}

/** Whether the drain was not there when the device was first stored. */
function isReportedLater({ status, statusChange, isGone }: Device, drain: Drain): boolean {
  return !isGone && status === 'enabled' && (statusChange?.at ?? '') < drain.at;
}

function toStatusChange({ reason, ...drain }: Drain): StatusChange {
  return { status: 'maintaining', ...drain, reason, drain: true };
}

/**
 * Ends the drain, and enables the devices that it disabled.
 *
 * @throws HostNotFound, HostNotDrained
 */
export async function resumeHost(
  deps: Deps,
  caller: Caller,
  hostname: string,
): Promise<readonly Device[]> {
  const { host, devices: stored } = await findHost(deps, hostname);
  // A device that is gone keeps its status, and must not be disabled when it returns.
  const drained = stored.filter(isDrained);
  const devices = presentIn(stored);
  if (drained.length === 0 && !host.drain) {
    const enabled = devices.filter(({ status }) => status === 'enabled').length;
    throw new HostNotDrained(hostname, enabled, devices.length - enabled);
  }
  // A drain that comes meanwhile stands.
  const last = [host.drain?.at ?? '', ...drained.map(drainedAt)].sort().at(-1) ?? '';
  await changeEach(deps, hostname, (device) =>
    isDrained(device) && drainedAt(device) <= last ? changeBy(deps, caller, 'enabled') : undefined,
  );
  if (host.drain) await deps.store.inventory.endDrain(hostname, host.drain.at);
  deps.log.info('Host resumed', { host: hostname, by: caller.userId });
  return presentIn(drained);
}

function isDrained({ status, statusChange }: Device): boolean {
  return status === 'maintaining' && statusChange?.drain === true;
}

function drainedAt({ statusChange }: Device): string {
  return statusChange?.at ?? '';
}

async function readDrained(deps: Deps, hostname: string): Promise<Drained> {
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
  changeFor: (device: Device, host: StoredHost) => StatusChange | undefined,
): Promise<void> {
  const { inventory } = deps.store;
  const read = await inventory.host(hostname);
  await forEachAtOnce(read.devices, devicesAtOnce, async (first) => {
    await untilWritten(
      'devices',
      async (round) => {
        const { host, devices } = round === 1 ? read : await inventory.host(hostname);
        const device = devices.find(({ uuid }) => uuid === first.uuid);
        const change = device && changeFor(device, host);
        if (!change) return undefined;
        const providers = await storedProviders(deps, device.providers);
        const isChanged = await inventory.changeStatus({ ...device, providers }, change);
        return isChanged ? undefined : contended;
      },
      `The status of device ${first.uuid} was not set`,
    );
  });
}

function changeBy(deps: Deps, caller: Caller, status: Device['status']): StatusChange {
  const at = timeNow(deps);
  return { status, by: caller.userId, at, requestId: caller.requestId };
}
