import type { Deps } from '#core/deps.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { ProgramUnderWay } from '#core/domain/errors.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { timeNow } from '#core/operations/time-now.ts';

/**
 * Ends the program of a component that awaits a power cycle, as failed. The device is as it was
 * before, and disabled: the component runs the image after any later power cycle.
 *
 * @param handles those of the device
 * @returns the handles that are free now
 * @throws ProgramUnderWay while the host looks whether a boot was the power cycle
 */
export async function giveUpProgram(
  deps: Deps,
  device: Device,
  handles: readonly AttachHandle[],
): Promise<AttachHandle[]> {
  const kept = handles.find(({ release, quarantine }) => release && quarantine === undefined);
  const program = kept?.release && (await deps.store.releases.program(kept.release));
  if (!program?.component) return [];
  const { noteId } = program.component;
  const { devices } = await deps.store.inventory.host(device.hostname);
  const notes = devices.find(({ uuid }) => uuid === device.uuid)?.programs ?? [];
  const note = notes.find(({ id }) => id === noteId);
  if (note?.state !== 'awaiting-power-cycle') return [];
  const stored = await deps.store.inventory.providers(device.providers);
  const providers = stored.map(({ deployable }) => deployable.providerUuid);
  const { component, version } = note;
  const reason = `It was given up before a power cycle: ${component} runs version ${version} after any later one.`;
  const ended = { ...note, state: 'failed', since: timeNow(deps), reason } as const;
  const rows = { ...device, providers };
  if (!(await deps.store.componentPrograms.giveUp(program, rows, ended, makeChangeNote(deps)))) {
    throw new ProgramUnderWay(device.uuid, `its host has booted, and looks what ${component} runs`);
  }
  deps.log.warn('Program given up', { device: device.uuid, host: device.hostname, component });
  return handles.filter(({ release }) => release === program.id);
}
