// Forms of clouds.yaml, secure.yaml, clouds-public.yaml and OS_*, as operators have them.
// $KEYSTONE stands for the address, and $KEYSTONE_ROOT for that without a version.

export interface SignInForm {
  readonly title: string;
  /** By name, in the folder for `openstack` in the user's configuration. */
  readonly files?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Why ours is another answer than the client's. */
  readonly differs?: string;
}

const auth = [
  'auth_url: $KEYSTONE',
  'username: op',
  'password: secret',
  'project_name: infra',
  'user_domain_name: Default',
  'project_domain_name: Default',
];
const authFlow = `auth: {${auth.map((line) => line.replace('$KEYSTONE', '"$KEYSTONE"')).join(', ')}}`;

/** Keystone refuses what the client sends then. */
const noDomain = 'the client names no domain, and ours is that of the cloud, or default';

/** The file of one cloud with these lines. */
const cloud = (...lines: readonly string[]) =>
  ['clouds:', '  ops:', ...lines.map((line) => `    ${line}`), ''].join('\n');

const one = (title: string, ...lines: readonly string[]): SignInForm => ({
  title,
  files: { 'clouds.yaml': cloud(...lines) },
  environment: { OS_CLOUD: 'ops' },
});

const variables = {
  OS_AUTH_URL: '$KEYSTONE',
  OS_USERNAME: 'op',
  OS_PASSWORD: 'secret',
  OS_PROJECT_NAME: 'infra',
};

export const signInForms: readonly SignInForm[] = [
  one('a password', 'auth:', ...auth.map((line) => `  ${line}`)),
  one('auth_type password', 'auth_type: password', authFlow),
  one('auth_type v3password', 'auth_type: v3password', authFlow),
  {
    ...one(
      'a password without domains',
      'auth: {auth_url: "$KEYSTONE", username: op, password: s, project_name: p}',
    ),
    differs: noDomain,
  },
  {
    ...one(
      'a default domain',
      'default_domain: corp',
      'auth: {auth_url: "$KEYSTONE", username: op, password: s, project_name: p}',
    ),
    differs: noDomain,
  },
  one(
    'ids of user, project and domain',
    'auth: {auth_url: "$KEYSTONE", user_id: u1, password: s, project_id: p1}',
  ),
  one(
    'ids of domains',
    'auth: {auth_url: "$KEYSTONE", username: op, user_domain_id: d1, password: s, project_name: p, project_domain_id: d2}',
  ),
  one(
    'a tenant instead of a project',
    'auth: {auth_url: "$KEYSTONE", username: op, password: s, tenant_name: p, user_domain_id: default, project_domain_id: default}',
  ),
  one(
    'the scope of a domain',
    'auth: {auth_url: "$KEYSTONE", username: op, password: s, user_domain_name: Default, domain_name: corp}',
  ),
  one(
    'the scope of the system',
    'auth: {auth_url: "$KEYSTONE", username: op, password: s, user_domain_name: Default, system_scope: all}',
  ),
  one(
    'no scope',
    'auth: {auth_url: "$KEYSTONE", username: op, password: s, user_domain_name: Default}',
  ),
  one(
    'a token',
    'auth_type: token',
    'auth: {auth_url: "$KEYSTONE", token: t0, project_name: p, project_domain_name: Default}',
  ),
  one(
    'auth_type v3token',
    'auth_type: v3token',
    'auth: {auth_url: "$KEYSTONE", token: t0, project_id: p1}',
  ),
  one(
    'an application credential by id',
    'auth_type: v3applicationcredential',
    'auth: {auth_url: "$KEYSTONE", application_credential_id: a1, application_credential_secret: s}',
  ),
  one(
    'an application credential by name',
    'auth_type: v3applicationcredential',
    'auth: {auth_url: "$KEYSTONE", application_credential_name: deploy, application_credential_secret: s, username: op, user_domain_name: Default}',
  ),
  {
    ...one(
      'an application credential beside a project',
      'auth_type: v3applicationcredential',
      'auth: {auth_url: "$KEYSTONE", application_credential_id: a1, application_credential_secret: s, project_name: p}',
    ),
    differs: 'the client wants the domain of a project that it does not send',
  },
  one(
    'numbers as names',
    'auth: {auth_url: "$KEYSTONE", username: 1234, password: 5678, project_name: 42, user_domain_id: default, project_domain_id: default}',
  ),
  one(
    'names with dashes',
    'auth: {auth-url: "$KEYSTONE", username: op, password: s, project-id: p1, user-domain-id: u}',
    'region-name: Two',
  ),
  one('a key twice', authFlow, 'region_name: One', 'region_name: Two'),
  one('a list of regions', authFlow, 'regions: [Two, Three]'),
  one('a list of regions with values', authFlow, 'regions: [{name: Two, values: {}}, Three]'),
  one('the interface internal', authFlow, 'interface: internal'),
  one('endpoint_type internalURL', authFlow, 'endpoint_type: internalURL'),
  one('verify no', authFlow, 'verify: no'),
  one('verify off', authFlow, 'verify: off'),
  {
    ...one('verify "false"', authFlow, 'verify: "false"'),
    differs: 'the client takes the text for the path of a file',
  },
  one('verify yes', authFlow, 'verify: yes'),
  one('insecure on', authFlow, 'insecure: on'),
  one('cacert', authFlow, 'cacert: /etc/ssl/certs/ca-certificates.crt'),
  one('a null cacert', authFlow, 'cacert: ~'),
  {
    title: 'merge keys',
    files: {
      'clouds.yaml': [
        'x-base: &base',
        '  auth: &auth',
        ...auth.map((line) => `    ${line}`),
        '  region_name: One',
        'clouds:',
        '  ops:',
        '    <<: *base',
        '    auth:',
        '      <<: *auth',
        '      project_name: other',
        '',
      ].join('\n'),
    },
    environment: { OS_CLOUD: 'ops' },
  },
  {
    title: 'a password in secure.yaml',
    differs: noDomain,
    files: {
      'clouds.yaml': cloud('auth: {auth_url: "$KEYSTONE", username: op, project_name: p}'),
      'secure.yaml': cloud('auth: {password: hidden}'),
    },
    environment: { OS_CLOUD: 'ops' },
  },
  {
    title: 'a profile of clouds-public.yaml',
    differs: noDomain,
    files: {
      'clouds.yaml': cloud('profile: vendor', 'auth: {username: op, password: s, project_name: p}'),
      'clouds-public.yaml':
        'public-clouds:\n  vendor:\n    auth: {auth_url: "$KEYSTONE", user_domain_name: V}\n    region_name: east\n    interface: internal\n',
    },
    environment: { OS_CLOUD: 'ops' },
  },
  { title: 'the environment only', differs: noDomain, environment: variables },
  {
    title: 'the environment with domains and a region',
    environment: {
      ...variables,
      OS_USER_DOMAIN_NAME: 'corp',
      OS_PROJECT_DOMAIN_ID: 'd2',
      OS_REGION_NAME: 'Two',
      OS_INTERFACE: 'internal',
    },
  },
  {
    title: 'a cloud that the environment names, of two',
    files: { 'clouds.yaml': `${cloud(authFlow)}  other: {auth: {auth_url: "$KEYSTONE"}}\n` },
    environment: { OS_CLOUD: 'ops' },
  },
  {
    title: 'a region of the environment before that of the file',
    differs: 'the client knows the regions of the file only, and ours those of the catalog',
    files: { 'clouds.yaml': cloud(authFlow, 'region_name: One') },
    environment: { OS_CLOUD: 'ops', OS_REGION_NAME: 'Two' },
  },
  {
    title: 'a user of the environment beside a named cloud',
    files: { 'clouds.yaml': cloud(authFlow) },
    environment: { OS_CLOUD: 'ops', OS_USERNAME: 'someone', OS_PASSWORD: 'else' },
  },
  {
    title: 'a cloud that no file has',
    files: { 'clouds.yaml': cloud(authFlow) },
    environment: { OS_CLOUD: 'nowhere' },
  },
  one(
    'a URL without a version',
    'auth: {auth_url: "$KEYSTONE_ROOT", username: op, user_domain_id: d1, password: s, project_id: p1}',
  ),
  one(
    'a URL with a slash at its end',
    'auth: {auth_url: "$KEYSTONE/", username: op, user_domain_id: d1, password: s, project_id: p1}',
  ),
  one(
    'domains beside auth',
    'auth: {auth_url: "$KEYSTONE", username: op, password: s, project_name: p}',
    'user_domain_name: Default',
    'project_domain_name: Default',
  ),
  one(
    "the file of Horizon: a project's id and name, and the domain of the user only",
    'auth: {auth_url: "$KEYSTONE", username: op, password: s, project_id: p1, project_name: p, user_domain_name: corp}',
    'region_name: RegionOne',
    'interface: public',
    'identity_api_version: 3',
  ),
  {
    title: 'the openrc of Horizon',
    environment: {
      ...variables,
      OS_PROJECT_ID: 'p1',
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_ID: 'default',
      OS_REGION_NAME: 'RegionOne',
      OS_INTERFACE: 'public',
      OS_IDENTITY_API_VERSION: '3',
      OS_TENANT_ID: '',
      OS_TENANT_NAME: '',
    },
  },
  {
    title: 'the openrc of an application credential',
    environment: {
      OS_AUTH_TYPE: 'v3applicationcredential',
      OS_AUTH_URL: '$KEYSTONE',
      OS_APPLICATION_CREDENTIAL_ID: 'a1',
      OS_APPLICATION_CREDENTIAL_SECRET: 's',
      OS_IDENTITY_API_VERSION: '3',
    },
  },
  {
    title: 'the openrc of an application credential after that of a user',
    differs: 'the client sends the project, with which Keystone refuses such a credential',
    environment: {
      ...variables,
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_NAME: 'Default',
      OS_AUTH_TYPE: 'v3applicationcredential',
      OS_APPLICATION_CREDENTIAL_ID: 'a1',
      OS_APPLICATION_CREDENTIAL_SECRET: 's',
    },
  },
  one('no password', 'auth: {auth_url: "$KEYSTONE", username: op, project_name: p}'),
  one('no URL', 'auth: {username: op, password: s, project_name: p}'),
  one('a file that is not YAML', 'auth: {auth_url: "$KEYSTONE"', 'x: ]'),
  {
    ...one('an unknown interface', authFlow, 'interface: secret'),
    differs: 'the client finds out by the catalog',
  },
];
