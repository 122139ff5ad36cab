// Ids of jobs: `<stage>-<kind of host work>-<uuid>`. The uuid is derived from the purpose of the
// job, so that a duplicate message creates one job. AWS allows 64 characters of `[a-zA-Z0-9_-]`;
// isStage() in topics.ts keeps stages short enough.

import { type HostWorkKind, hostWork, hostWorkKinds } from '#core/domain/host-work/host-work.ts';
import { isUuid } from '#core/domain/uuid-form.ts';

export function jobId(stage: string, kind: HostWorkKind, uuid: string): string {
  return `${stage}-${hostWork[kind].idPrefix}-${uuid}`;
}

/** Undefined for a job of another stage or of another application in the account. */
export function readJobId(
  stage: string,
  id: string,
): { readonly kind: HostWorkKind; readonly uuid: string } | undefined {
  for (const kind of hostWorkKinds) {
    const start = jobId(stage, kind, '');
    const uuid = id.slice(start.length);
    if (id.startsWith(start) && isUuid(uuid)) return { kind, uuid };
  }
  return undefined;
}
