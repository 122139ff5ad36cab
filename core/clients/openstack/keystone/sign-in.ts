// Signs a person in at Keystone: passes on what the person gave, and returns the token.

import * as z from 'zod';
import {
  type Http,
  type HttpRequest,
  RequestRefused,
  readBody,
  ServiceUnavailable,
  saysAbsent,
} from '#core/clients/http.ts';
import type { Settings } from '#core/settings.ts';
import { type Credentials, toAuth } from './keystone-credentials.ts';
import { identityUrl } from './own-token.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

export interface SignedIn {
  readonly token: string;
  readonly expiresAt: Date;
  readonly user: Named;
  readonly project: Named;
  readonly roles: readonly string[];
}

const named = z.object({ id: z.string(), name: z.string() });

const signedInBody = z.object({
  token: z.object({
    user: named,
    project: named,
    roles: z.array(z.object({ name: z.string() })),
    expires_at: z.iso.datetime({ offset: true }),
  }),
});

/**
 * One call, which is not repeated: Keystone counts failed attempts and locks the account.
 *
 * @returns undefined if Keystone refuses. @throws ServiceUnavailable
 */
export async function signIn(
  settings: Settings['keystone'],
  http: Http,
  credentials: Credentials,
): Promise<SignedIn | undefined> {
  const request: HttpRequest = {
    service: 'identity',
    method: 'POST',
    url: `${identityUrl(settings)}/auth/tokens?nocatalog`,
    body: { auth: toAuth(credentials) },
  };
  const answer = await http(request).catch((error: unknown) => {
    throw failsFor(request, error) ?? error;
  });
  if ([401, 403].includes(answer.status) || saysAbsent(answer, 'error')) return undefined;
  const token = answer.headers.get('X-Subject-Token');
  if (answer.status !== 201 || token === null) {
    const { message } = new RequestRefused(request, answer);
    throw new ServiceUnavailable('identity', request.url, `no token: ${message}`, false);
  }
  const body = readBody(signedInBody, request, answer).token;
  return {
    token,
    expiresAt: new Date(body.expires_at),
    user: body.user,
    project: body.project,
    roles: [...new Set(body.roles.map(({ name }) => name))],
  };
}

/**
 * Keystone answers 500 for names that its database does not take. Anybody may send one, so that it
 * must not count as an outage, which would refuse the sign-ins of all.
 */
function failsFor({ service, url }: HttpRequest, error: unknown): ServiceUnavailable | undefined {
  if (!(error instanceof ServiceUnavailable) || error.status !== 500) return undefined;
  return new ServiceUnavailable(service, url, 'it answered 500 to this sign-in', false);
}
