import type { NovaDeps } from '#core/deps.ts';
import { type Caller, isAdmin } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';

/**
 * Refuses a request that takes a device from an instance, unless Nova sends it (CVE-2026-40214).
 * In a deployment without service tokens the caller must own the instance at Nova.
 */
export async function refuseWithoutServiceToken(
  deps: NovaDeps,
  caller: Caller,
  instanceUuid: string,
  action: string,
): Promise<void> {
  if (caller.hasServiceToken) return;
  refuseWhereTokensAreRequired(deps, caller, action);
  if (isAdmin(caller)) return;
  const server = await deps.clients.nova.server(instanceUuid);
  if (server === 'not-found' || server.projectId !== caller.projectId) {
    throw notOfProject(instanceUuid);
  }
}

/**
 * The same for a delete. An admin may delete ARQs of an instance that Nova has on no host, or no
 * longer has: no hypervisor uses their devices.
 */
export async function refuseDeleteWithoutServiceToken(
  deps: NovaDeps,
  caller: Caller,
  instanceUuid: string,
  action: string,
): Promise<void> {
  if (!caller.hasServiceToken && isAdmin(caller)) {
    const server = await deps.clients.nova.server(instanceUuid);
    if (server === 'not-found' || server.host === null) return;
  }
  await refuseWithoutServiceToken(deps, caller, instanceUuid, action);
}

/**
 * Refuses a delete that a service sends for a user of another project, unless Nova itself is at
 * work on the server, or has it on no host: its policy may let some users act in other projects.
 * Asked only where the projects differ, so that no delete of Nova's waits for Nova.
 */
export async function refuseDeleteForOtherProject(
  deps: NovaDeps,
  caller: Caller,
  instanceUuid: string,
): Promise<void> {
  const server = await deps.clients.nova.server(instanceUuid);
  if (server === 'not-found' || server.projectId === caller.projectId) return;
  if (server.host === null || typeof server.taskState === 'string') return;
  throw notOfProject(instanceUuid);
}

/** Refuses any request without a service token, in a deployment that requires them. */
export function refuseWhereTokensAreRequired(deps: NovaDeps, caller: Caller, action: string): void {
  if (caller.hasServiceToken || !deps.settings.requireServiceToken) return;
  throw new Forbidden(
    `This request (${action}) requires a service token. In nova.conf set ` +
      '[service_user] send_service_user_token = true.',
  );
}

function notOfProject(instanceUuid: string): Forbidden {
  return new Forbidden(`Instance ${instanceUuid} is not an instance of this project.`);
}
