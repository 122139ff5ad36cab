// X-Auth-Token, and Nova's X-Service-Token, by the rules of keystonemiddleware.

import { longTokenLength, tokenLengthMax } from '#core/clients/openstack/keystone/keystone.ts';
import type { RequestDeps } from '#core/deps.ts';
import { isCallAllowed } from '#core/domain/access-rules.ts';
import type { Caller } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import { hasRole } from '#core/domain/roles.ts';
import { HttpFault } from './faults.ts';

type RequestHeaders = Readonly<Record<string, string | undefined>>;

/** The request, for whose method and path an application credential may have rules. */
interface TokenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: RequestHeaders;
}

/**
 * @throws HttpFault 401 if a token is missing, unknown, too long or not a service's, or if its
 *   access rules do not allow the request; Forbidden if the token is not scoped to a project;
 *   ServiceUnavailable if Keystone does not answer
 */
export async function authenticate(
  deps: RequestDeps,
  request: TokenRequest,
  requestId: string,
): Promise<Caller> {
  const userToken = userTokenOf(request.headers);
  if (!userToken) throw unauthorized(deps, 'The request you have made requires authentication.');
  // An empty header is no service token, as for keystonemiddleware.
  const serviceToken = request.headers['x-service-token'] || undefined;
  const hasServiceToken = serviceToken !== undefined && (await isService(deps, serviceToken));
  if (serviceToken !== undefined && !hasServiceToken) {
    throw unauthorized(deps, refusalOf('service token', serviceToken));
  }
  // A build can last longer than the user's token: Nova's service token then vouches for it.
  const { keystone } = deps.clients;
  const user = await keystone.validateToken(userToken, { allowExpired: hasServiceToken });
  if (!user) throw unauthorized(deps, refusalOf('token', userToken));
  const { accessRules, projectId } = user;
  // A service token says that the user has called another service, which has checked its rules.
  if (accessRules && !hasServiceToken && !isCallAllowed(accessRules, request)) {
    const call = `${request.method} ${request.path}`;
    const sentence = `The access rules of the application credential do not allow ${call}.`;
    throw unauthorized(deps, sentence);
  }
  if (projectId === undefined) throw new Forbidden('The token is not scoped to a project.');
  return { requestId, userId: user.userId, projectId, roles: user.roles, hasServiceToken };
}

/** Keystonemiddleware reads Swift's header, too, where there is no other. */
export function userTokenOf(headers: RequestHeaders): string | undefined {
  return headers['x-auth-token'] ?? headers['x-storage-token'];
}

/** A long token may be refused for its length, by us or by a server before Keystone. */
function refusalOf(subject: 'token' | 'service token', { length }: string): string {
  if (length > tokenLengthMax) {
    return `The ${subject} has ${length} characters; at most ${tokenLengthMax} are allowed.`;
  }
  return length > longTokenLength
    ? `The ${subject} of ${length} characters is not valid, or is too long for Keystone's server.`
    : `The ${subject} is not valid.`;
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
