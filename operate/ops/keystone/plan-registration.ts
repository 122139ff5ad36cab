// The entries that Keystone needs for the deployment, compared with those it has. Pure.

import { CommandFailed, exitCodes } from '#operate/ops/verb.ts';

const faces = ['public', 'internal', 'admin'] as const;
export type Face = (typeof faces)[number];

export const serviceType = 'accelerator';

/**
 * `admin`: validates tokens, writes to Placement, notifies Nova. `service`: other services accept
 * our token beside a user's.
 */
export const roleNames = ['admin', 'service'] as const;

interface RegistrationRequest {
  readonly username: string;
  readonly projectName: string;
  readonly region: string;
  readonly urls: Readonly<Record<Face, string>>;
}

export interface Registered {
  readonly services: readonly RegisteredEntry[];
  /** Endpoints of the service in the region. */
  readonly endpoints: readonly (RegisteredEntry & {
    readonly interface: string;
    readonly url: string;
  })[];
  readonly project: RegisteredEntry | undefined;
  readonly user: RegisteredEntry | undefined;
  /** Ids of roles by their names. */
  readonly roles: ReadonlyMap<string, string>;
  /** Names of the roles that the user has in the project. */
  readonly held: ReadonlySet<string>;
}

interface RegisteredEntry {
  readonly id: string;
  readonly enabled?: boolean | undefined;
}

export type Kind = 'project' | 'role' | 'user' | 'grant' | 'service' | 'endpoint';

/** One thing that Keystone must have. */
export interface Entry {
  readonly kind: Kind;
  readonly name: string;
  readonly state: 'present' | 'missing' | 'differs' | 'disabled';
  readonly id?: string | undefined;
  readonly face?: Face;
  readonly url?: string;
  /** The URL that a differing endpoint has. */
  readonly urlNow?: string;
}

/** In the order in which they are made: Nova finds the API last. @throws CommandFailed */
export function planRegistration(
  request: RegistrationRequest,
  registered: Registered,
): readonly Entry[] {
  const { roles, held, services } = registered;
  if (!roles.has('admin')) {
    throw new CommandFailed(
      exitCodes.failed,
      'Keystone has no role admin, which the service user needs: make it with keystone-manage bootstrap.',
    );
  }
  const [service] = services;
  if (services.length > 1) throw several(`services of type ${serviceType}`, 'service', services);
  return [
    toEntry('project', request.projectName, registered.project),
    ...roleNames.map((name) => {
      const id = roles.get(name);
      return toEntry('role', name, id === undefined ? undefined : { id });
    }),
    toEntry('user', request.username, registered.user),
    ...roleNames.map(
      (name): Entry => ({
        kind: 'grant',
        name,
        state: held.has(name) ? 'present' : 'missing',
      }),
    ),
    toEntry('service', serviceType, service),
    ...faces.map((face) => endpointEntry(face, request, registered)),
  ];
}

function toEntry(kind: Kind, name: string, existing: RegisteredEntry | undefined): Entry {
  if (existing === undefined) return { kind, name, state: 'missing' };
  return {
    kind,
    name,
    id: existing.id,
    state: existing.enabled === false ? 'disabled' : 'present',
  };
}

function endpointEntry(
  face: Face,
  { region, urls }: RegistrationRequest,
  { endpoints }: Registered,
): Entry {
  const url = urls[face];
  const all = endpoints.filter((each) => each.interface === face);
  const [existing] = all;
  if (all.length > 1) throw several(`${face} endpoints in ${region}`, 'endpoint', all);
  const entry = { ...toEntry('endpoint', `${face} in ${region}`, existing), face, url };
  if (existing === undefined || plain(existing.url) === plain(url)) return entry;
  return { ...entry, state: 'differs', urlNow: existing.url };
}

/** Clients ignore a slash at the end. */
function plain(url: string): string {
  return url.replace(/\/+$/, '');
}

function several(subject: string, kind: Kind, all: readonly RegisteredEntry[]): CommandFailed {
  const ids = all.map(({ id }) => id).join(', ');
  return new CommandFailed(
    exitCodes.failed,
    `Keystone has ${all.length} ${subject}, and at most one is allowed: ${ids}. Nothing was changed; remove the others with \`openstack ${kind} delete <id>\`.`,
  );
}
