import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { Deps } from '#core/deps.ts';
import type { ComponentNote, Device, StatusChange } from '#core/domain/device/device.ts';
import type { DeviceHealth } from '#core/domain/device/device-health.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { timeNow } from '#core/operations/time-now.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface ProgramEnd {
  /** Why the region or component was not programmed. */
  readonly failure?: string | undefined;
  /** The host may have written a part of the image: the device is unhealthy. */
  readonly isPartial?: boolean;
  /** What the host has verified of a component. */
  readonly evidence?: Evidence | undefined;
}

/**
 * Stores what became of the program; the note of a newer program stays. A device that was
 * disabled for the program is enabled again when it has succeeded.
 */
export async function noteProgram(
  deps: Deps,
  program: HostProgram,
  state: ComponentNote['state'],
  { failure: reason, evidence, isPartial = false }: ProgramEnd,
): Promise<void> {
  const { component, hostname } = program;
  if (!component) return await deps.store.regions.endProgram(program, state, reason);
  await untilWritten(
    'devices',
    async () => {
      // A late end must not overwrite the end of the work that a boot has put in its place.
      if (!(await deps.store.releases.program(program.id))) return;
      const { devices } = await deps.store.inventory.host(hostname);
      const device = devices.find(({ uuid }) => uuid === component.deviceUuid);
      const note = device?.programs?.find(({ id }) => id === component.noteId);
      if (!device || !note) return;
      const since = note.state === state ? note.since : timeNow(deps);
      const ended = { ...note, state, ...present({ since, reason, evidence }) };
      const stored = await deps.store.inventory.providers(device.providers);
      const providers = stored.map(({ deployable }) => deployable.providerUuid);
      const change = state === 'done' ? enabling(deps, device, note) : undefined;
      const isNoted = await deps.store.componentPrograms.note(
        program,
        { ...device, providers },
        ended,
        change,
        isPartial ? withheld(deps, ended) : undefined,
      );
      return isNoted ? undefined : contended;
    },
    `The program of ${component.name} on device ${component.deviceUuid} was not noted`,
  );
}

/** Undefined where an operator has set the status since, or the program has not. */
function enabling(
  deps: Deps,
  { statusChange }: Device,
  { id, by }: ComponentNote,
): StatusChange | undefined {
  return statusChange?.program === id ? { status: 'enabled', by, at: timeNow(deps) } : undefined;
}

/**
 * An operator may enable the device before the report that says how its host finds it. As after
 * any fault, it is offered when its host has reported no fault for some minutes.
 */
function withheld(deps: Deps, { component, reason }: ComponentNote): DeviceHealth {
  const now = timeNow(deps);
  const sentence = `is withheld: the program of ${component} failed: ${reason}`.slice(0, 255);
  return { state: 'unhealthy', reason: sentence, since: now, healthySince: now };
}
