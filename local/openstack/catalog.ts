// The people of the demo cloud: projects, users and tokens that every stand-in, test and page of
// documentation means by the same names. Nothing here is secret; nothing here is for production.

import { createHash } from 'node:crypto';

export const domain = { id: 'default', name: 'Default' } as const;
export const region = 'RegionOne';

/** Of every user here. */
export const password = 'demo-secret';

export const projectNames = ['admin', 'service', 'demo', 'alt'] as const;
export type ProjectName = (typeof projectNames)[number];

export interface User {
  readonly name: string;
  /** What was assigned; {@link effectiveRoles} adds what that implies. */
  readonly roles: Readonly<Partial<Record<ProjectName, readonly string[]>>>;
  /** Scope of a login that asks for none. */
  readonly defaultProject?: ProjectName;
  readonly systemRoles?: readonly string[];
}

const serviceUser = (name: string): User => ({
  name,
  roles: { service: ['admin', 'service'] },
  defaultProject: 'service',
});

export const users: readonly User[] = [
  { name: 'admin', roles: { admin: ['admin'], demo: ['admin'] }, systemRoles: ['admin'] },
  { name: 'demo', roles: { demo: ['member'] }, defaultProject: 'demo' },
  { name: 'reader', roles: { demo: ['reader'] }, defaultProject: 'demo' },
  { name: 'manager', roles: { demo: ['manager'] }, defaultProject: 'demo' },
  { name: 'alt', roles: { alt: ['member'] }, defaultProject: 'alt' },
  serviceUser('nova'),
  serviceUser('placement'),
  serviceUser('glance'),
  serviceUser('cyborg'),
  // A service that was not made an admin, as newer deployments have it.
  { name: 'telemetry', roles: { service: ['service'] }, defaultProject: 'service' },
];

export type Scope =
  | { readonly project: ProjectName }
  | { readonly system: true }
  | Readonly<Record<string, never>>;

export interface StaticToken {
  readonly user: string;
  readonly scope: Scope;
  /** Keystone knows it only with `allow_expired`. */
  readonly isExpired?: boolean;
}

/** Tokens that need no login; each always has an hour left, save the expired one. */
export const staticTokens: Readonly<Record<string, StaticToken>> = {
  'admin-token': { user: 'admin', scope: { project: 'admin' } },
  'demo-token': { user: 'demo', scope: { project: 'demo' } },
  'reader-token': { user: 'reader', scope: { project: 'demo' } },
  'manager-token': { user: 'manager', scope: { project: 'demo' } },
  'alt-token': { user: 'alt', scope: { project: 'alt' } },
  'nova-token': { user: 'nova', scope: { project: 'service' } },
  'cyborg-token': { user: 'cyborg', scope: { project: 'service' } },
  'telemetry-token': { user: 'telemetry', scope: { project: 'service' } },
  'system-admin-token': { user: 'admin', scope: { system: true } },
  'unscoped-token': { user: 'demo', scope: {} },
  'expired-token': { user: 'demo', scope: { project: 'demo' }, isExpired: true },
};

/** Ids look like Keystone's, and are the same in every run. */
export function idOf(kind: 'user' | 'project' | 'role' | 'service' | 'endpoint', name: string) {
  return createHash('sha256').update(`${kind} ${name}`).digest('hex').slice(0, 32);
}

// As `keystone-manage bootstrap` makes them.
const implies: Readonly<Record<string, string>> = {
  admin: 'manager',
  manager: 'member',
  member: 'reader',
};

/** The assigned roles and all that they imply. */
export function effectiveRoles(assigned: readonly string[]): string[] {
  const roles = new Set<string>();
  for (const role of assigned) {
    for (let next: string | undefined = role; next; next = implies[next]) roles.add(next);
  }
  return [...roles];
}

export function rolesOf(user: User, scope: Scope): string[] {
  if ('project' in scope && scope.project) return effectiveRoles(user.roles[scope.project] ?? []);
  return 'system' in scope ? effectiveRoles(user.systemRoles ?? []) : [];
}
