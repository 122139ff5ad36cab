// Records of calls that change something: who asked for what, and what came of it. What a call has
// changed is recorded by the streams, too (history-of-change.ts), but some rows say no caller, and
// a refused call changes no row.

import { type Caller, isAdmin, userActor } from '#core/domain/caller.ts';
import { derivedUuid } from '#core/domain/ids.ts';
import type { HistoryRecord } from './history.ts';

export interface CallFacts {
  readonly caller: Caller;
  /** The resource of the route. */
  readonly resource: string;
  readonly rule: string;
  readonly method: string;
  /** With the query, which may name what is deleted. */
  readonly path: string;
  readonly status: number;
  /** Why it was refused. */
  readonly refusal?: string;
  /** What the body asked for, if the path does not say it. */
  readonly given?: Readonly<Record<string, unknown>>;
}

/** Longer texts are cut: a record is one write, of few units. */
const textMax = 1_000;

/**
 * Whether a call leaves a record of its own. Nova's calls, which are for ARQs and have a service
 * token, leave none if they succeed: the records of the streams have them, and each write more
 * would be one for each server. If they fail, Nova hides the reason from its user. A refused bind
 * has its record from note-refusal.ts, and a refused delete has lost nothing. A service token
 * beside another change hides nothing: each service user has one.
 */
export function leavesRecord(facts: CallFacts): boolean {
  const { caller, resource, method, path, status } = facts;
  if (method === 'GET') return false;
  if (resource !== 'accelerator-requests') return true;
  if (isNovas(facts)) return status >= 500 || (method === 'POST' && status >= 400);
  if (status >= 400) return true;
  // Where no service token is required, Nova deletes by instance. Records of the streams name who
  // created and bound an ARQ, and not who deleted one that had no device.
  const isByInstance = new URLSearchParams(path.split('?')[1]).has('instance');
  return method === 'DELETE' && (isAdmin(caller) || !isByInstance);
}

const isNovas = ({ caller, resource }: CallFacts) =>
  resource === 'accelerator-requests' && caller.hasServiceToken;

export function toCallRecord(facts: CallFacts, nowMs: number): HistoryRecord {
  const { caller, rule, method, path, status, refusal, given } = facts;
  return {
    id: derivedUuid('call', caller.requestId),
    at: new Date(nowMs).toISOString(),
    kind: status < 400 ? 'call.done' : status < 500 ? 'call.refused' : 'call.failed',
    by: userActor(caller),
    requestId: caller.requestId,
    ...whereUsersRead(facts),
    ...(refusal !== undefined && { reason: refusal.slice(0, textMax) }),
    call: {
      rule,
      method,
      path: path.slice(0, textMax),
      status,
      project: caller.projectId,
      roles: caller.roles.slice(0, 32),
      ...(given && { given: JSON.stringify(given).slice(0, textMax) }),
    },
  };
}

/**
 * The user of a server reads why it has no accelerator: of its project, and of the instance that a
 * PATCH names. A POST names the profile only. Without a service token a caller may name any
 * instance, so operators alone see its record.
 */
function whereUsersRead(facts: CallFacts): Partial<HistoryRecord> {
  if (!isNovas(facts)) return {};
  const { caller, given: { instance, profile } = {} } = facts;
  return {
    projectId: caller.projectId,
    ...(typeof instance === 'string' && { instanceUuid: instance }),
    ...(typeof profile === 'string' && { profileName: profile }),
  };
}
