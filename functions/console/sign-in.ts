import { ServiceUnavailable } from '#core/clients/http.ts';
import type { Credentials } from '#core/clients/openstack/keystone/keystone-credentials.ts';
import { type SignInBody, signInAnswer, signInBody } from '#core/contracts/api/openstack.ts';
import { action } from '#functions/http/action.ts';
import { HttpFault } from '#functions/http/faults.ts';
import type { ConsoleDeps } from './deps.ts';
import { httpsOnly } from './serve-file.ts';

/** A page of another origin cannot reach Keystone, and so signs in through its own. */
export const signInAction = action<unknown, SignInBody, ConsoleDeps>(
  {
    body: signInBody,
    hasSecret: true,
    answers: { 200: signInAnswer },
    refuses: [401, 429],
  },
  async ({ deps, body, about, sourceAddress }) => {
    about({ method_of_sign_in: body.method });
    const attempt = deps.brake.begin(sourceAddress, brakeName(body));
    if ('waitSeconds' in attempt) {
      const { waitSeconds } = attempt;
      throw new HttpFault(
        429,
        `Too many sign-ins have failed from this address or for this name: try again in ${waitSeconds} s.`,
        { 'Retry-After': String(waitSeconds) },
      );
    }
    const signedIn = await deps.clients.keystone.signIn(toCredentials(body)).catch((error) => {
      if (!(error instanceof ServiceUnavailable) || error.isWorthRetrying) attempt.undone();
      throw error;
    });
    // Keystone does not reveal which part was wrong, and neither does this answer.
    if (!signedIn) {
      throw new HttpFault(
        401,
        'Keystone refused the sign-in: the name, the secret or the project is not right, ' +
          'or the account is locked or expired.',
      );
    }
    attempt.succeeded();
    const { token, expiresAt, user, project, roles } = signedIn;
    return {
      headers: {
        ...httpsOnly,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
      body: { token, expires_at: expiresAt.toISOString(), user, project, roles },
    };
  },
);

/** Keystone compares names without case. */
function brakeName(body: SignInBody): string {
  if (body.method === 'application_credential') return `credential ${body.id}`;
  return `user ${body.domain} ${body.user}`.toLowerCase();
}

function toCredentials(body: SignInBody): Credentials {
  if (body.method === 'application_credential') return body;
  const { project_domain: projectDomain, ...rest } = body;
  return { ...rest, projectDomain };
}
