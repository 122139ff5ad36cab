import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isUncleanImport, isWithheld, longestCleaning } from '#core/domain/device/handle-state.ts';
import { CleaningImpossible } from '#core/domain/errors.ts';
import { isLost } from '#core/domain/host/presence.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import { type AwaitedWork, type HandleRef, leftAtOf } from '#core/domain/host-work/host-work.ts';
import type { HandleUuid, ProviderUuid } from '#core/domain/ids.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { giveUpProgram } from '#core/operations/host-work/programs/give-up-program.ts';
import { noteProgram } from '#core/operations/host-work/programs/note-program.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { present } from '#core/shapes/derive/present.ts';
import { timeNow } from '../time-now.ts';
import { isDirty, returnToPool } from './return-to-pool.ts';
import { waitingHandles } from './waiting-handles.ts';

/** What an operator states about the device. */
interface ForceWord {
  readonly reason?: string | undefined;
  /** The operator has cleaned the device: nothing of an earlier holder is left on it. */
  readonly isCleaned: boolean;
}

interface Forced {
  /** Handles that are free now, or belong to their claim again. */
  readonly freed: readonly HandleUuid[];
  /** Handles that are free when their host has cleaned up. */
  readonly cleaning: readonly HandleUuid[];
}

/**
 * Frees the handles of a device that are in quarantine, or restored from a backup; the operator
 * has made sure that no instance has them. The host cleans up first, since an mdev of the last
 * holder may still be there. Only if the operator states that the device was cleaned, the handles
 * are free at once. A program that awaits a power cycle is given up. The device's row and the log
 * keep the operator's user id.
 *
 * @throws CleaningImpossible where the host's agent is not connected; then nothing has changed
 * @throws ProgramUnderWay while the host looks whether a boot was the power cycle of a program
 */
export async function forceRelease(
  deps: Deps,
  caller: Caller,
  device: Device,
  word: ForceWord,
): Promise<Forced> {
  const handles = await readHandles(deps, device.providers);
  const held = handles.filter(isWithheld);
  if (!word.isCleaned && held.some(isForHost)) {
    await refuseWithoutHost(deps, device);
  }
  const abandoned = await giveUpProgram(deps, device, handles);
  for (const id of new Set(
    held.flatMap(({ quarantine, release }) => (quarantine && release) || []),
  )) {
    const work = await deps.store.releases.awaited(id);
    if (!work) continue;
    if (work.kind === 'program') {
      await noteProgram(deps, work, 'failed', { failure: 'It was released by force.' });
    }
    if (word.isCleaned) await confirmHere(deps, device, work);
    else await cleanAgain(deps, caller, device, work);
  }
  const restored = held.filter(
    (each) =>
      each.restoredAt !== undefined &&
      (word.isCleaned || each.quarantine === undefined || isUncleanImport(each)),
  );
  if (word.isCleaned)
    for (const handle of restored)
      await deps.store.releases.reinstate(handle, makeChangeNote(deps));
  else await returnToPool(deps, device.hostname, restored);
  const forced = await outcomeFor(deps, device, [...held, ...abandoned]);
  if (held.length + abandoned.length > 0) await note(deps, caller, device, word, forced);
  return forced;
}

/** Whether the host may still have something of an earlier holder. */
function isForHost(handle: AttachHandle): boolean {
  return handle.quarantine !== undefined || isDirty(handle);
}

async function refuseWithoutHost(deps: Deps, { uuid, hostname }: Device): Promise<void> {
  const reason = await reasonNotAsked(deps, hostname);
  if (reason) throw new CleaningImpossible(uuid, reason);
}

/** A clause that says why the host cannot be asked to clean; undefined where it can. */
export async function reasonNotAsked(deps: Deps, hostname: string): Promise<string | undefined> {
  const host = await deps.store.inventory.hostAlone(hostname);
  const mistrust = mistrustOf(host);
  if (mistrust) return mistrust;
  const isAway = host.bootId === undefined || isLost(host, deps.clock());
  return isAway ? `the agent of host ${hostname} is not connected` : undefined;
}

/** Asks the host again to clean up handles in quarantine; they stay there until the host has. */
async function cleanAgain(
  deps: Deps,
  caller: Caller,
  device: Device,
  old: AwaitedWork,
): Promise<void> {
  // An earlier force-release has asked the host already.
  if (!old.quarantine) return;
  const { bindId, isPart } = old.kind === 'release' ? old : {};
  const waiting = (await readHandles(deps, device.providers)).filter(
    ({ release, quarantine }) => release === old.id && quarantine !== undefined,
  );
  const handles = waiting.map(({ providerUuid, uuid }) => ({ providerUuid, handleUuid: uuid }));
  const { release: next, dueAt } = newRelease(deps, {
    ...present({ bindId }),
    ...(isPart && { isPart }),
    hostname: old.hostname,
    leftAt: leftAtOf(old),
    handles,
    ...longestCleaning(waiting),
    requestId: caller.requestId,
  });
  await deps.store.releases.cleanAgain(old, next, dueAt);
  if (!(await isAwaitedElsewhere(deps, device, old)))
    await deps.store.releases.confirm(old, makeChangeNote(deps));
}

/** Confirms the work for this device; its handles on other devices go on waiting. */
async function confirmHere(deps: Deps, device: Device, work: AwaitedWork): Promise<void> {
  const isElsewhere = await isAwaitedElsewhere(deps, device, work);
  const here = isElsewhere ? handlesHere(device, work) : undefined;
  await deps.store.releases.confirm(work, makeChangeNote(deps), here);
}

function handlesHere({ providers }: Device, { handles }: AwaitedWork): readonly HandleRef[] {
  return handles.filter(({ providerUuid }) => providers.includes(providerUuid));
}

async function isAwaitedElsewhere(
  deps: Deps,
  { providers }: Device,
  { id, handles }: AwaitedWork,
): Promise<boolean> {
  const others = handles.filter(({ providerUuid }) => !providers.includes(providerUuid));
  return (await waitingHandles(deps, { id, handles: others })).length > 0;
}

async function outcomeFor(
  deps: Deps,
  device: Device,
  held: readonly AttachHandle[],
): Promise<Forced> {
  const left = new Map(
    (await readHandles(deps, device.providers)).map((each) => [each.uuid, each]),
  );
  const now = held.flatMap(({ uuid }) => left.get(uuid) ?? []);
  const requested = new Set<string>();
  for (const id of new Set(now.flatMap(({ release }) => release ?? []))) {
    const work = await deps.store.releases.awaited(id);
    if (work && !work.quarantine) requested.add(id);
  }
  return {
    freed: now.filter((each) => !isWithheld(each) && !each.release).map(({ uuid }) => uuid),
    cleaning: now
      .filter(({ release }) => release && requested.has(release))
      .map(({ uuid }) => uuid),
  };
}

async function note(
  deps: Deps,
  caller: Caller,
  device: Device,
  { reason, isCleaned }: ForceWord,
  { freed, cleaning }: Forced,
): Promise<void> {
  await deps.store.releases.noteForce(device, {
    by: caller.userId,
    at: timeNow(deps),
    isCleaned,
    ...(reason && { reason }),
  });
  deps.log.warn('Handles released by force', {
    device: device.uuid,
    host: device.hostname,
    handles: freed,
    cleaning,
    cleaned: isCleaned,
    user: caller.userId,
    reason,
  });
}

async function readHandles(
  deps: Deps,
  providers: readonly ProviderUuid[],
): Promise<readonly AttachHandle[]> {
  const stored = await deps.store.inventory.providers(providers);
  return stored.flatMap(({ handles }) => handles);
}
