import type { Deps } from '#core/deps.ts';
import { componentDueAt } from '#core/domain/host-work/deadlines.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ReleaseId } from '#core/domain/ids.ts';
import { timeNow } from '../time-now.ts';

/**
 * Asks the host in its present boot for the program of a component from before it: a power cut may
 * have left the component half written, or have it run its image. Repeatable.
 */
export async function resumeProgram(deps: Deps, program: HostProgram): Promise<void> {
  const next = { ...program, id: deps.uuid() as ReleaseId, startedAt: timeNow(deps) };
  const dueAt = componentDueAt(deps.clock());
  if (!(await deps.store.componentPrograms.replace(program, next, dueAt))) return;
  const { hostname: host, component } = program;
  deps.log.info('Program resumed after a boot', { host, component: component?.name });
}
