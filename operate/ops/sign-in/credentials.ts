// Credentials and endpoint, as every OpenStack client takes them: an option comes before its
// variable OS_*, and that before clouds.yaml.

import { CommandFailed, exitCodes, wrongUsage } from '#operate/ops/verb.ts';
import type { Cloud } from './cloud-files.ts';

/** Keystone's `auth` of a login, without the scope. */
export type Identity = Readonly<Record<string, unknown>> & { readonly methods: readonly string[] };

export interface Credentials {
  readonly authUrl: string;
  readonly identity: Identity;
  readonly scope: Readonly<Record<string, unknown>> | undefined;
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly interface: 'public' | 'internal' | 'admin';
  readonly caFile: string | undefined;
  readonly isInsecure: boolean;
}

/** A setting by the name that clouds.yaml has for it. */
type Source = (name: string) => string | undefined;

export interface Sources {
  /** `--os-…` without the prefix, and `endpoint`. */
  readonly options: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cloud: Cloud | undefined;
}

const authTypes = [
  'password',
  'token',
  'v3password',
  'v3token',
  'v3applicationcredential',
] as const;

/** @throws CommandFailed that names what is missing */
export function readCredentials(settings: Sources): Credentials {
  const sources = listSources(settings);
  const first = (name: string) => findFirst(sources, (source) => source(name));
  const authUrl = first('auth_url');
  if (authUrl === undefined) {
    throw new CommandFailed(
      exitCodes.notAllowed,
      'There are no credentials: set OS_CLOUD, or OS_AUTH_URL and the other OS_* variables.',
    );
  }
  if (!/^https?:\/\/[^/]/.test(authUrl)) {
    throw wrongUsage('OS_AUTH_URL must be a URL such as https://keystone.example.org/v3.');
  }
  const method = chooseMethod(sources);
  return {
    authUrl,
    identity: identities[method](sources),
    scope: method === 'v3applicationcredential' ? undefined : readScope(sources),
    endpoint:
      settings.options.endpoint ??
      first('accelerator_endpoint_override') ??
      first('endpoint_override'),
    region: first('region_name'),
    interface: parseInterface(first('interface') ?? first('endpoint_type') ?? 'public'),
    caFile: first('cacert'),
    isInsecure: isYes(first('insecure')) || first('verify') === 'false',
  };
}

function listSources({ options, environment, cloud }: Sources): readonly Source[] {
  const textOf = (value: unknown) =>
    ['string', 'number', 'boolean'].includes(typeof value) && value !== ''
      ? String(value)
      : undefined;
  return [
    (name) => options[name],
    (name) => textOf(environment[`OS_${name.toUpperCase()}`]),
    (name) => textOf(cloud?.auth?.[name] ?? cloud?.[name]),
  ];
}

function findFirst<T>(sources: readonly Source[], read: (source: Source) => T | undefined) {
  for (const source of sources) {
    const value = read(source);
    if (value !== undefined) return value;
  }
  return undefined;
}

type Kind = 'v3password' | 'v3token' | 'v3applicationcredential';

/** The kind that is named, or that of the first source with credentials. */
function chooseMethod(sources: readonly Source[]): Kind {
  const named = findFirst(sources, (source) => source('auth_type'));
  if (named !== undefined) {
    const authType = authTypes.find((each) => each === named);
    if (authType === undefined) {
      throw wrongUsage(`OS_AUTH_TYPE ${named} must be one of ${authTypes.join(', ')}.`);
    }
    return authType === 'password' ? 'v3password' : authType === 'token' ? 'v3token' : authType;
  }
  const kind = findFirst(sources, (source): Kind | undefined => {
    const has = (...names: string[]) => names.some((name) => source(name) !== undefined);
    if (has('application_credential_id', 'application_credential_name')) {
      return 'v3applicationcredential';
    }
    if (has('password', 'username', 'user_id')) return 'v3password';
    return has('token') ? 'v3token' : undefined;
  });
  return kind ?? 'v3password';
}

const identities: Readonly<Record<Kind, (sources: readonly Source[]) => Identity>> = {
  v3password: (sources) => ({
    methods: ['password'],
    password: { user: { ...readUser(sources), password: need(sources, 'password') } },
  }),
  v3token: (sources) => ({ methods: ['token'], token: { id: need(sources, 'token') } }),
  v3applicationcredential(sources) {
    const id = findFirst(sources, (source) => source('application_credential_id'));
    const secret = need(sources, 'application_credential_secret');
    const named =
      id === undefined
        ? { name: need(sources, 'application_credential_name'), user: readUser(sources) }
        : { id };
    return { methods: ['application_credential'], application_credential: { ...named, secret } };
  },
};

function readUser(sources: readonly Source[]) {
  const id = findFirst(sources, (source) => source('user_id'));
  if (id !== undefined) return { id };
  return { name: need(sources, 'username'), domain: readDomain(sources, 'user') };
}

/** The domain of the user or the project; `default` as with OpenStack's own client. */
function readDomain(sources: readonly Source[], of: 'user' | 'project') {
  return (
    named(sources, `${of}_domain`) ?? {
      id: findFirst(sources, (source) => source('default_domain')) ?? 'default',
    }
  );
}

/** `<what>_id` or `<what>_name`, both from the first source that has one of them. */
function named(sources: readonly Source[], subject: string) {
  return findFirst(sources, (source) => {
    const [id, name] = [source(`${subject}_id`), source(`${subject}_name`)];
    if (id !== undefined) return { id };
    return name === undefined ? undefined : { name };
  });
}

function readScope(sources: readonly Source[]): Credentials['scope'] {
  const project = named(sources, 'project') ?? named(sources, 'tenant');
  if (project) {
    const domain = 'name' in project && { domain: readDomain(sources, 'project') };
    return { project: { ...project, ...domain } };
  }
  if (isSet(findFirst(sources, (source) => source('system_scope'))))
    return { system: { all: true } };
  const domain = named(sources, 'domain');
  return domain && { domain };
}

function need(sources: readonly Source[], name: string): string {
  const value = findFirst(sources, (source) => source(name));
  if (value !== undefined) return value;
  throw new CommandFailed(
    exitCodes.notAllowed,
    `OS_${name.toUpperCase()} is missing: set it, or ${name} in clouds.yaml.`,
  );
}

function parseInterface(text: string): Credentials['interface'] {
  const plain = text.replace(/URL$/, '');
  const catalogInterface = (['public', 'internal', 'admin'] as const).find(
    (each) => each === plain,
  );
  if (catalogInterface) return catalogInterface;
  throw wrongUsage(`OS_INTERFACE ${text} must be one of public, internal, admin.`);
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== 'false';
}

function isYes(value: string | undefined): boolean {
  return value !== undefined && /^(1|true|yes)$/i.test(value);
}
