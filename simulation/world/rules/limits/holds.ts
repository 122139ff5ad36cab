// Holds that operators set and end, and their rules: no bind gets a device that is on hold, also
// not one that a host reports later.

import type { Device } from '#core/domain/device/device.ts';
import { type DeviceHold, deviceHold, holdId, marksFor } from '#core/domain/device/device-holds.ts';
import * as holding from '#core/operations/devices/hold-devices.ts';
import { readFields, toDeployable, toDevice } from '#core/store/rows/inventory-rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import type { MemoryDatabase, RowChange } from '#simulation/database/memory-database.ts';
import { type Violate, Violation } from '#simulation/violation.ts';
import { type Act, admin } from '#simulation/world/acts.ts';

/** Longer than a function runs that has read the device before it was marked. */
const bindMs = 60_000;
/** Longer than the lease under which a report is applied. */
const reportMs = 120_000;

type HeldType = 'NIC' | 'GPU' | 'FPGA';

/** Keeps all devices of the type from new binds, for a while or until an operator ends it. */
export const hold =
  (type: HeldType, forMs?: number): Act =>
  async ({ depsFor, spawn, timeline, holds }) => {
    const deps = depsFor(spawn('operator'));
    const until = forMs && new Date(timeline.now() + forMs).toISOString();
    const more = { reason: 'loud', ...(until && { until }) };
    const set = await holding.holdDevices(deps, admin, { type }, more).catch(() => undefined);
    if (set && !until && !holds.has(set.id)) holds.set(set.id, 'set');
  };

export const endHold =
  (type: HeldType): Act =>
  ({ depsFor, spawn, holds }) => {
    const id = holdId({ type });
    // Before the request: its answer may be lost.
    holds.set(id, 'ended');
    return holding.endHold(depsFor(spawn('operator')), admin, id).catch(() => {});
  };

export function hasHolds(database: MemoryDatabase): boolean {
  return database.rows('inventory').some(({ pk }) => pk === 'HOLDS');
}

function storedHolds(rows: readonly Item[]): readonly DeviceHold[] {
  const row = rows.find(({ pk }) => pk === 'HOLDS');
  return (row && readFields(row, 'hold#', deviceHold)) ?? [];
}

/** @returns called for each committed change */
export function createHoldCheck(
  violate: Violate,
): (change: RowChange, database: MemoryDatabase, nowMs: number) => void {
  /** Since when each provider is on hold, or offered by another service, too. */
  const marked = new Map<string, number>();
  return ({ before, after }, database, nowMs) => {
    const key = String((after ?? before)?.pk);
    const isDeployable = (after ?? before)?.sk === 'DEPLOYABLE';
    const isMarked = after?.is_on_hold === true || after?.offered_twice !== undefined;
    if (isDeployable && !isMarked) marked.delete(key);
    else if (isDeployable && !marked.has(key)) marked.set(key, nowMs);
    const isClaim = before?.bind_id === undefined && after?.handle_uuid !== undefined;
    const markedMs = marked.get(`RP#${after?.provider_uuid}`);
    if (isClaim && markedMs !== undefined && markedMs < nowMs - bindMs) {
      violate('I2', `ARQ ${after?.uuid} claims a handle of a device that takes no binds`);
    }
    if (!before && after?.device) checkNew(after, database, nowMs, violate);
  };
}

/** A device is on hold from its first moment. */
function checkNew(after: Item, database: MemoryDatabase, nowMs: number, violate: Violate): void {
  const device = toDevice(after);
  const early = storedHolds(database.rows('inventory')).filter(
    ({ at }) => Date.parse(at) < nowMs - reportMs,
  );
  const marks = (device.holds ?? []).map(({ id }) => id);
  const missing = marksFor(device, early).find(({ id }) => !marks.includes(id));
  if (missing) violate('I2', `device ${device.uuid} is new and lacks the mark of ${missing.id}`);
}

/** Each device has the marks of the holds that match it, and its deployables follow. */
export function checkHolds(
  rows: readonly Item[],
  devices: readonly Device[],
  expected: ReadonlyMap<string, 'set' | 'ended'>,
): void {
  const holds = storedHolds(rows);
  for (const [id, state] of expected) {
    if (state === 'ended' || holds.some((hold) => hold.id === id)) continue;
    throw new Violation('L3', `hold ${id} has ended, but no operator has ended it`);
  }
  const deployables = rows.filter(({ sk }) => sk === 'DEPLOYABLE').map(toDeployable);
  for (const device of devices) {
    const ids = marksFor(device, holds).map(({ id }) => id);
    const marks = (device.holds ?? []).map(({ id }) => id);
    if (marks.join() !== ids.join()) {
      throw new Violation('L3', `device ${device.uuid} is on hold by ${marks}, not by ${ids}`);
    }
    const own = deployables.filter(({ deviceUuid }) => deviceUuid === device.uuid);
    if (own.some((each) => (each.isOnHold ?? false) !== marks.length > 0)) {
      throw new Violation('L3', `a deployable of device ${device.uuid} does not follow its holds`);
    }
  }
}
