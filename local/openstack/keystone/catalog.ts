// The catalog of the demo cloud: the projects, users and tokens of all fakes, tests and documents.
// Nothing in this file is secret, and nothing is for production.

import { createHash } from 'node:crypto';
import type { AccessRule } from '#core/domain/access-rules.ts';

export const domain = { id: 'default', name: 'Default' } as const;
export const region = 'RegionOne';

/** The password of every user. */
export const password = 'demo-secret';

export const projectNames = ['admin', 'service', 'demo', 'alt'] as const;

export interface User {
  readonly name: string;
  /** The assigned roles; {@link effectiveRoles} adds implied ones. */
  readonly roles: Readonly<Partial<Record<string, readonly string[]>>>;
  /** Scope of a login without a scope. */
  readonly defaultProject?: string;
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
  // A service without the role admin, as in newer deployments.
  { name: 'telemetry', roles: { service: ['service'] }, defaultProject: 'service' },
];

interface ApplicationCredential {
  readonly id: string;
  readonly secret: string;
  readonly user: string;
  readonly project: string;
  readonly accessRules?: readonly AccessRule[];
}

/** Its tokens may call what its access rules name. */
const limitedCredentialId = '0b6d3c5f2a914e7c8d1f6a5b4c3d2e1f';

export const applicationCredentials: readonly ApplicationCredential[] = [
  {
    id: '8f2c1d0e9b7a4c6d8e5f3a2b1c0d9e8f',
    secret: 'demo-credential',
    user: 'admin',
    project: 'admin',
  },
  {
    id: limitedCredentialId,
    secret: 'limited-credential',
    user: 'demo',
    project: 'demo',
    accessRules: [
      { service: 'compute', method: 'POST', path: '/v2.1/servers' },
      { service: 'accelerator', method: 'GET', path: '/accelerator/v2/accelerator_requests' },
      { service: 'accelerator', method: 'GET', path: '/accelerator/v2/device_profiles/{uuid}' },
    ],
  },
];

export type Scope =
  | { readonly project: string }
  | { readonly system: true }
  | Readonly<Record<string, never>>;

interface StaticToken {
  readonly user: string;
  readonly scope: Scope;
  /** Keystone accepts the token only with `allow_expired`. */
  readonly isExpired?: boolean;
  /** Id of the application credential that the token was given for. */
  readonly credential?: string;
}

/** Tokens that need no login; each always has an hour left, except the expired one. */
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
  'limited-token': { user: 'demo', scope: { project: 'demo' }, credential: limitedCredentialId },
  'expired-token': { user: 'demo', scope: { project: 'demo' }, isExpired: true },
};

/** Ids in Keystone's form, the same in every run. */
export function idOf(kind: 'user' | 'project' | 'role' | 'service' | 'endpoint', name: string) {
  return createHash('sha256').update(`${kind} ${name}`).digest('hex').slice(0, 32);
}

// The implied roles that `keystone-manage bootstrap` creates.
const implies: Readonly<Record<string, string>> = {
  admin: 'manager',
  manager: 'member',
  member: 'reader',
};

/** The assigned roles and the roles that they imply. */
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
