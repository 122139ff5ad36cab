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
export function toAuth(credentials: Credentials): unknown {
  if (credentials.method === 'application_credential') {
    const { id, secret } = credentials;
    return { identity: { methods: [credentials.method], application_credential: { id, secret } } };
  }
  const user = {
    name: credentials.user,
    domain: { name: credentials.domain },
    password: credentials.password,
  };
  const project = { name: credentials.project, domain: { name: credentials.projectDomain } };
  return { identity: { methods: [credentials.method], password: { user } }, scope: { project } };
}
