// X-Auth-Token, and Nova's X-Service-Token, by the rules of keystonemiddleware.

import type { RequestDeps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import { hasRole } from '#core/domain/roles.ts';
import { HttpFault } from './faults.ts';

/**
 * @throws HttpFault 401 if a token is missing, unknown or not a service's; Forbidden if the token
 *   is not scoped to a project; ServiceUnavailable if Keystone does not answer
 */
export async function authenticate(
  deps: RequestDeps,
  headers: Readonly<Record<string, string | undefined>>,
  requestId: string,
): Promise<Caller> {
  const { keystone } = deps.clients;
  const userToken = headers['x-auth-token'];
  if (!userToken) throw unauthorized(deps, 'The request you have made requires authentication.');
  const serviceToken = headers['x-service-token'];
  const hasServiceToken = serviceToken !== undefined && (await isService(deps, serviceToken));
  if (serviceToken !== undefined && !hasServiceToken) {
    throw unauthorized(deps, 'The service token is not valid.');
  }
  // A build can last longer than the user's token: Nova's service token then vouches for it.
  const user = await keystone.validateToken(userToken, { allowExpired: hasServiceToken });
  if (!user) throw unauthorized(deps, 'The token is not valid.');
  if (user.projectId === undefined) {
    throw new Forbidden('The token is not scoped to a project.');
  }
  return {
    requestId,
    userId: user.userId,
    projectId: user.projectId,
    roles: user.roles,
    hasServiceToken,
  };
}

async function isService(deps: RequestDeps, token: string): Promise<boolean> {
  const service = await deps.clients.keystone.validateToken(token, { allowExpired: false });
  return service !== undefined && hasRole(service.roles, deps.settings.serviceTokenRoles);
}

/** 401 with the address of Keystone. */
export function unauthorized(deps: RequestDeps, sentence: string): HttpFault {
  const uri = deps.settings.keystone.publicUrl;
  return new HttpFault(401, sentence, { 'WWW-Authenticate': `Keystone uri="${uri}"` });
}
