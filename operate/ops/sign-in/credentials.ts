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
  /** The auth_type admin_token has a token that needs no sign-in. */
  readonly readyToken?: string;
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
  'admin_token',
] as const;

/** Each needs a browser, an identity provider or a second factor. */
const interactiveTypes = /^(v3oidc|v3saml|v3adfs|v3kerberos|v3oauth|v3totp|v3multifactor|v3websso)/;

/** @throws CommandFailed that names what is missing */
export function readCredentials(settings: Sources): Credentials {
  const sources = listSources(settings);
  const first = (name: string) => findFirst(sources, (source) => source(name));
  const method = chooseMethod(settings, sources);
  const endpoint =
    settings.options.endpoint ??
    first('accelerator_endpoint_override') ??
    first('endpoint_override');
  const region = first('region_name') ?? firstRegion(settings.cloud);
  const others = {
    region,
    interface: parseInterface(first('interface') ?? first('endpoint_type') ?? 'public'),
    caFile: withHome(first('cacert'), settings.environment.HOME),
    isInsecure: isYes(first('insecure')) || isNo(first('verify')),
  };
  const need = (name: string) => needed(settings, sources, name);
  if (method === 'admin_token') {
    const readyToken = need('token');
    return {
      ...others,
      authUrl: first('auth_url') ?? '',
      identity: { methods: ['token'], token: { id: readyToken } },
      scope: undefined,
      endpoint: endpoint ?? need('endpoint'),
      readyToken,
    };
  }
  const authUrl = readAuthUrl(settings, first, region);
  return {
    ...others,
    authUrl,
    identity: identities[method](sources, need),
    scope: method === 'v3applicationcredential' ? undefined : readScope(sources),
    endpoint,
  };
}

/** A file of a vendor may have the region's name in the URL. */
function readAuthUrl({ cloud }: Sources, first: Source, region: string | undefined): string {
  const authUrl = first('auth_url')?.replaceAll('{region_name}', region ?? '');
  if (authUrl === undefined) {
    const how = 'set OS_CLOUD, or OS_AUTH_URL and the other OS_* variables.';
    throw new CommandFailed(
      exitCodes.notAllowed,
      cloud?.origin
        ? `${cloud.origin} has no auth.auth_url, and OS_AUTH_URL is not set.`
        : `There are no credentials: ${how}`,
    );
  }
  if (/^https?:\/\/[^/]/.test(authUrl)) return authUrl;
  throw wrongUsage('OS_AUTH_URL must be a URL such as https://keystone.example.org/v3.');
}

/** openstacksdk takes the first of several regions. */
function firstRegion(cloud: Cloud | undefined): string | undefined {
  const regions = cloud?.regions;
  const first: unknown = Array.isArray(regions) ? regions[0] : undefined;
  const name = typeof first === 'object' && first !== null && 'name' in first ? first.name : first;
  return typeof name === 'string' ? name : undefined;
}

function withHome(path: string | undefined, home: string | undefined): string | undefined {
  return path?.replace(/^~(?=\/|$)/, home ?? '~');
}

function listSources({ options, environment, cloud }: Sources): readonly Source[] {
  const textOf = (value: unknown) =>
    ['string', 'number', 'boolean'].includes(typeof value) && value !== ''
      ? String(value)
      : undefined;
  return [
    (name) => options[name],
    (name) => textOf(environment[`OS_${name.toUpperCase()}`]),
    (name) =>
      [name, ...(otherNames[name] ?? [])]
        .map((each) => textOf(cloud?.auth?.[each] ?? cloud?.[each]))
        .find((text) => text !== undefined),
  ];
}

/** Names that openstacksdk also reads. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  token: ['auth_token'],
  username: ['user_name'],
  interface: ['endpoint_type'],
};

function findFirst<T>(sources: readonly Source[], read: (source: Source) => T | undefined) {
  for (const source of sources) {
    const value = read(source);
    if (value !== undefined) return value;
  }
  return undefined;
}

type Kind = 'v3password' | 'v3token' | 'v3applicationcredential' | 'admin_token';

/** The kind that is named, or that of the first source with credentials. */
function chooseMethod({ cloud }: Sources, sources: readonly Source[]): Kind {
  const named = findFirst(sources, (source) => source('auth_type') ?? source('auth_plugin'));
  if (named !== undefined) {
    const authType = authTypes.find((each) => each === named);
    if (authType === undefined) {
      const where = cloud?.origin ? ` (${cloud.origin}, key auth_type)` : '';
      const why = interactiveTypes.test(named)
        ? ' With another one, let the openstack client give a token: set OS_TOKEN and OS_AUTH_TYPE=token.'
        : '';
      throw wrongUsage(
        `OS_AUTH_TYPE ${named}${where} must be one of ${authTypes.join(', ')}.${why}`,
      );
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

/** @throws CommandFailed if no source has the setting */
type Need = (name: string) => string;

const identities: Readonly<
  Record<Exclude<Kind, 'admin_token'>, (sources: readonly Source[], need: Need) => Identity>
> = {
  v3password: (sources, need) => ({
    methods: ['password'],
    password: { user: { ...readUser(sources, need), password: need('password') } },
  }),
  v3token: (_, need) => ({ methods: ['token'], token: { id: need('token') } }),
  v3applicationcredential(sources, need) {
    const id = findFirst(sources, (source) => source('application_credential_id'));
    const secret = need('application_credential_secret');
    const named =
      id === undefined
        ? { name: need('application_credential_name'), user: readUser(sources, need) }
        : { id };
    return { methods: ['application_credential'], application_credential: { ...named, secret } };
  },
};

function readUser(sources: readonly Source[], need: Need) {
  const id = findFirst(sources, (source) => source('user_id'));
  if (id !== undefined) return { id };
  return { name: need('username'), domain: readDomain(sources, 'user') };
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

function needed({ cloud }: Sources, sources: readonly Source[], name: string): string {
  const value = findFirst(sources, (source) => source(name));
  if (value !== undefined) return value;
  const variable = `OS_${name.toUpperCase()}`;
  throw new CommandFailed(
    exitCodes.notAllowed,
    cloud?.origin
      ? `${variable} is missing: ${cloud.origin} has no auth.${name}.`
      : `${variable} is missing: set it, or ${name} in clouds.yaml.`,
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

function isNo(value: string | undefined): boolean {
  return value !== undefined && /^(0|false|no|off)$/i.test(value);
}

function isYes(value: string | undefined): boolean {
  return value !== undefined && /^(1|true|yes|on)$/i.test(value);
}
