// Names of jobs. Derived from what they are for, so that a message that comes twice makes one job.
// At most 64 characters of `[a-zA-Z0-9_-]`: a stage has at most 20.

import { isUuid } from '../domain/ids.ts';

/** What a job is for: a bind, a release, an operator's program, a host after a boot, a report. */
export type JobKind = 'bind' | 'free' | 'prog' | 'boot' | 'look';

const kinds: readonly string[] = ['bind', 'free', 'prog', 'boot', 'look'] satisfies JobKind[];

export function jobId(stage: string, kind: JobKind, uuid: string): string {
  return `${stage}-${kind}-${uuid}`;
}

/** Undefined for a job that is not this stage's: an account may have others. */
export function readJobId(
  stage: string,
  id: string,
): { readonly kind: JobKind; readonly uuid: string } | undefined {
  if (!id.startsWith(`${stage}-`)) return undefined;
  const kind = id.slice(stage.length + 1, stage.length + 5);
  const uuid = id.slice(stage.length + 6);
  return kinds.includes(kind) && isUuid(uuid) ? { kind: kind as JobKind, uuid } : undefined;
}
