// Holds: operators keep all devices like these from new binds. What is bound stays bound.

import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { type Device, isOnHold } from '#core/domain/device/device.ts';
import {
  type DeviceHold,
  type HoldSelector,
  holdId,
  holdsMax,
  marksFor,
  matchesHold,
  readSelector,
} from '#core/domain/device/device-holds.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { HoldNotFound } from '#core/domain/operator-errors.ts';
import { devicesAtOnce, forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { StoredHolds } from '#core/store/inventory/holds.ts';
import { timeNow } from '../time-now.ts';

const pageSize = 100;
/** How long a request marks devices: the sweep marks the rest. */
const requestMs = 5000;
/** How long a run of the sweep marks devices. */
const sweepMs = 15_000;
/** Then the sweep looks at all devices again: a consumer may have died with an outdated mark. */
const roundMs = 3_600_000;

/**
 * Keeps all devices that match from new binds, and those that match later. Repeatable; another
 * reason or end replaces that of the same selector.
 *
 * @throws InvalidInput
 */
export async function holdDevices(
  deps: Deps,
  caller: Caller,
  given: HoldSelector,
  { reason, until }: { readonly reason: string; readonly until?: string | undefined },
): Promise<DeviceHold> {
  const selector = readSelector(given);
  const id = holdId(selector);
  const change = { by: caller.userId, at: timeNow(deps) };
  const hold = { id, selector, reason, ...present({ until }), ...change };
  // First: the sweep finishes the marks of a request that dies.
  if (!(await deps.store.holds.putHold(hold))) {
    throw new InvalidInput(`The cloud already has ${holdsMax} holds, the maximum.`);
  }
  deps.log.info('Devices put on hold', { hold: id, selector, by: caller.userId, reason, until });
  await markFrom(deps, '0', deps.clock() + requestMs);
  return hold;
}

/**
 * Ends the hold. Devices stay on hold that another one matches, and disabled ones stay disabled.
 *
 * @throws HoldNotFound
 */
export async function endHold(deps: Deps, caller: Caller, id: string): Promise<void> {
  if (!(await deps.store.holds.endHold(id))) throw new HoldNotFound(id);
  deps.log.info('Hold ended', { hold: id, by: caller.userId });
  await markFrom(deps, '0', deps.clock() + requestMs);
}

/** Ends the holds whose time is over, and gives devices the marks that they lack. */
export async function sweepHolds(deps: Deps): Promise<void> {
  const now = timeNow(deps);
  const { revision, round } = await endOverdue(deps, await deps.store.holds.holds(), now);
  if (revision === 0) return;
  const isSame = round?.revision === revision;
  const isOver = isSame && round.after === undefined;
  if (isOver && deps.clock() - Date.parse(round.at) < roundMs) return;
  const at = isSame && !isOver ? round.at : now;
  const from = (isSame ? round.after : undefined) ?? '0';
  await markFrom(deps, from, deps.clock() + sweepMs, (after) =>
    deps.store.holds.putRound({ revision, at, ...present({ after }) }),
  );
}

async function endOverdue(deps: Deps, stored: StoredHolds, now: string): Promise<StoredHolds> {
  const overdue = stored.holds.filter(({ until }) => until !== undefined && until <= now);
  for (const { id } of overdue) {
    if (await deps.store.holds.endOverdueHold(id, now)) {
      deps.log.info('Hold ended: its time is over', { hold: id });
    }
  }
  return overdue.length > 0 ? deps.store.holds.holds() : stored;
}

/**
 * Marks the devices of a host as the holds say, after a report has described some of them: a
 * device may be new, or have other firmware or another region.
 */
export async function markHost(deps: Deps, hostname: string): Promise<void> {
  const { holds, revision } = await deps.store.holds.holds();
  if (revision === 0) return;
  const { devices } = await deps.store.inventory.host(hostname);
  const due = devices.filter((each) => isOnHold(each) || marksFor(each, holds).length > 0);
  await forEachAtOnce(due, devicesAtOnce, (device) => markDevice(deps, device));
}

/**
 * Gives devices their marks, in the order of their uuids, until the time is over.
 *
 * @param note stores how far it has come; undefined at the end
 */
async function markFrom(
  deps: Deps,
  from: string,
  untilMs: number,
  note: (after: string | undefined) => Promise<void> = async () => {},
): Promise<void> {
  let after: string | undefined = from;
  while (after !== undefined && deps.clock() < untilMs) {
    const page: readonly Device[] = await deps.listings.devicesAfter(after, pageSize);
    const { holds } = await deps.store.holds.holds();
    const due = page.filter((each) => !hasMarks(each, holds));
    await forEachAtOnce(due, devicesAtOnce, (device) => markDevice(deps, device));
    after = page.length < pageSize ? undefined : page.at(-1)?.uuid;
    await note(after);
  }
}

/**
 * Writes the marks, and reads again what they follow from: a report or a request may have changed
 * it since, and found the earlier marks right.
 */
async function markDevice(
  deps: Deps,
  { hostname, uuid }: Pick<Device, 'hostname' | 'uuid'>,
): Promise<void> {
  const { store } = deps;
  await untilWritten(
    'devices',
    async () => {
      const { holds } = await store.holds.holds();
      const device = await store.holds.device(hostname, uuid);
      if (!device) return undefined;
      const places = await store.inventory.placesOf(device.providers);
      const deployables = [...places.values()].map(({ deployable }) => deployable);
      const marks = marksFor(device, holds);
      const isCopied = deployables.every(
        ({ isOnHold: isMarked = false }) => isMarked === marks.length > 0,
      );
      if (isCopied && hasMarks(device, holds)) return undefined;
      await store.holds.markDevice(device, [...places.keys()], marks);
      return contended;
    },
    `Device ${uuid} was not marked as its holds say`,
  );
}

function hasMarks(device: Device, holds: readonly DeviceHold[]): boolean {
  return isDeepStrictEqual(device.holds ?? [], marksFor(device, holds));
}

/** The devices that match each hold now, by its id; undefined where that would take too long. */
export async function findMatching(
  deps: Deps,
  holds: readonly DeviceHold[],
): Promise<ReadonlyMap<string, readonly Device[]> | undefined> {
  const untilMs = deps.clock() + requestMs;
  const matching = new Map<string, Device[]>(holds.map(({ id }) => [id, []]));
  let after: string | undefined = holds.length > 0 ? '0' : undefined;
  while (after !== undefined) {
    if (deps.clock() > untilMs) return undefined;
    const page: readonly Device[] = await deps.listings.devicesAfter(after, pageSize);
    for (const device of page.filter(({ isGone }) => !isGone)) {
      for (const hold of holds) {
        if (matchesHold(device, hold)) matching.get(hold.id)?.push(device);
      }
    }
    after = page.length < pageSize ? undefined : page.at(-1)?.uuid;
  }
  return matching;
}
