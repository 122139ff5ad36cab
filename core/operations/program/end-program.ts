import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import { noteProgram, type ProgramEnd } from '#core/operations/host-work/programs/note-program.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { present } from '#core/shapes/derive/present.ts';

/** Ends an operator's program, and frees the handles of its region or device. */
export async function endProgram(
  deps: ConsumerDeps,
  program: HostProgram,
  end: ProgramEnd = {},
): Promise<void> {
  const { failure: reason } = end;
  await noteProgram(deps, program, reason === undefined ? 'done' : 'failed', end);
  await deps.store.releases.confirm(program, makeChangeNote(deps));
  if (reason) deps.log.error('Program failed', { ...logFields(program), reason });
  else deps.log.info('Program done', logFields(program));
}

/** Keeps the device of a component that is written, and runs its image after a power cycle. */
export async function awaitPowerCycle(
  deps: ConsumerDeps,
  program: HostProgram,
  evidence: Evidence | undefined,
): Promise<void> {
  await noteProgram(deps, program, 'awaiting-power-cycle', { evidence });
  await deps.store.componentPrograms.await(program);
  deps.log.info('Program awaits a power cycle', logFields(program));
}

/**
 * What the region holds is not known: the job ended without the host's word. The region cannot be
 * claimed until its host has finished what was under way there, or has booted, or an admin frees
 * it.
 */
export async function quarantineProgram(
  deps: ConsumerDeps,
  program: HostProgram,
  reason: string,
): Promise<void> {
  await noteProgram(deps, program, 'failed', { failure: reason, isPartial: true });
  await quarantine(deps, program, reason);
  deps.log.error('Program ended without an answer', { ...logFields(program), reason });
}

function logFields({ hostname, imageId, providerUuid, requestId, component }: HostProgram) {
  return {
    host: hostname,
    imageId,
    ...(component ? { device: component.deviceUuid, component: component.name } : { providerUuid }),
    ...present({ request_id: requestId }),
  };
}
