// The caller of the API, from a validated token. Every operation that a caller starts takes one.

import { hasRole } from './roles.ts';

export interface Caller {
  readonly requestId: string;
  readonly userId: string;
  readonly projectId: string;
  readonly roles: readonly string[];
  /** A service (Nova) speaks for the user: its own token came with the user's and was valid. */
  readonly hasServiceToken: boolean;
}

/** The actor of a {@link ChangeNote}. */
export function userActor({ userId }: Caller): string {
  return `user:${userId}`;
}

export function isAdmin(caller: Caller): boolean {
  return hasRole(caller.roles, ['admin']);
}

/** Whether the caller may see a project's objects: an admin may act for any tenant. */
export function maySee(caller: Caller, projectId: string): boolean {
  return isAdmin(caller) || caller.projectId === projectId;
}

/**
 * Whether the caller may see an instance's devices. A service has already checked that its user
 * may act on the instance that it names; it says nothing of ARQs that a request names.
 */
export function mayActOnInstance(caller: Caller, projectId: string): boolean {
  return caller.hasServiceToken || maySee(caller, projectId);
}
