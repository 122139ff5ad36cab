// The body with which Keystone makes a token, for a person and for the service user.

interface PasswordCredentials {
  readonly method: 'password';
  readonly user: string;
  readonly domain: string;
  readonly password: string;
  readonly project: string;
  readonly projectDomain: string;
}

interface ApplicationCredentials {
  readonly method: 'application_credential';
  readonly id: string;
  readonly secret: string;
}

export type Credentials = PasswordCredentials | ApplicationCredentials;

/**
 * `auth` of POST /v3/auth/tokens. An application credential has its own project; Keystone refuses
 * a scope beside it.
 */
export function authOf(given: Credentials): unknown {
  if (given.method === 'application_credential') {
    const { id, secret } = given;
    return { identity: { methods: [given.method], application_credential: { id, secret } } };
  }
  const user = { name: given.user, domain: { name: given.domain }, password: given.password };
  const project = { name: given.project, domain: { name: given.projectDomain } };
  return { identity: { methods: [given.method], password: { user } }, scope: { project } };
}
