import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { present } from '#core/shapes/derive/present.ts';

/**
 * Ends an operator's program, and frees the region's handles.
 *
 * @param failure why the region was not programmed
 */
export async function endProgram(
  deps: ConsumerDeps,
  program: HostProgram,
  failure?: string,
): Promise<void> {
  await deps.store.regions.endProgram(program, failure ? 'failed' : 'done', failure);
  await deps.store.releases.confirm(program, makeChangeNote(deps));
  if (failure) deps.log.error('Program failed', { ...logFields(program), reason: failure });
  else deps.log.info('Program done', logFields(program));
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
  await deps.store.regions.endProgram(program, 'failed', reason);
  await quarantine(deps, program, reason);
  deps.log.error('Program ended without an answer', { ...logFields(program), reason });
}

function logFields({ hostname, imageId, providerUuid, requestId }: HostProgram) {
  return { host: hostname, imageId, providerUuid, ...present({ request_id: requestId }) };
}
