// The action of an incident: exactly the request that the API names, and what it does.

import type { Incident } from '../api/answers.ts';
import { deviceActions } from '../devices/device-actions.ts';
import { hostActions } from '../hosts/host-actions.ts';
import type { Action } from '../parts/action.ts';

/** Undefined where no request ends the incident. */
export function incidentAction({ action, hostname, device_uuid }: Incident): Action | undefined {
  if (!action) return undefined;
  const { method, path, body } = action;
  const exactly = {
    fields: [],
    request: () => ({ method, path, ...(body && { body }) }),
  } as const;
  const known = knownAction(`${method} ${path}`, hostname, device_uuid);
  if (known) return { ...known, ...exactly };
  return {
    verb: 'Ask the API',
    object: `${method} ${path}`,
    explains: `The API names the request ${method} ${path} as what ends the incident.`,
    ...exactly,
    done: () => `${method} ${path} was accepted.`,
  };
}

function knownAction(
  request: string,
  hostname: string,
  deviceUuid: string | null,
): Action | undefined {
  const { rediscover, forget, reconcile } = hostActions(hostname);
  if (request.startsWith('DELETE /operator/v1/hosts/')) return forget;
  if (request.endsWith('/rediscover')) return rediscover;
  if (request === 'POST /operator/v1/reconcile') return reconcile;
  if (!request.endsWith('/force_release') || deviceUuid === null) return undefined;
  return {
    ...deviceActions(deviceUuid).forceRelease,
    explains:
      'The host is asked to clean the device again; its attach handles in quarantine return to the pool once it has done so.',
  };
}
