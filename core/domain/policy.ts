// Who may do what: Cyborg's rules with its new defaults, which a deployment can override. Roles
// come from a project-scoped token, in which Keystone has already added implied roles (admin >
// manager > member > reader).

import { hasRole } from './roles.ts';

const reader = ['reader', 'member', 'manager', 'admin', 'service'];
const manager = ['manager', 'admin'];
// Nova acts with the user's token; a service that acts alone has the service role.
const memberOrService = ['member', 'manager', 'admin', 'service'];
const admin = ['admin'];

/** Rule → roles, any of which is enough. */
export const policies = {
  'cyborg:device_profile:get_all': reader,
  'cyborg:device_profile:get_one': reader,
  'cyborg:device_profile:create': admin,
  'cyborg:device_profile:delete': admin,
  'cyborg:arq:get_all': reader,
  'cyborg:arq:get_one': reader,
  'cyborg:arq:create': memberOrService,
  'cyborg:arq:update': memberOrService,
  'cyborg:arq:delete': memberOrService,
  // Hardware alone, without servers and projects: Cyborg's own default.
  'cyborg:device:get_all': manager,
  'cyborg:device:get_one': manager,
  'cyborg:device:enable': admin,
  'cyborg:device:disable': admin,
  'cyborg:device:update': admin,
  'cyborg:device:force_release': admin,
  'cyborg:device:program_firmware': admin,
  'cyborg:deployable:get_all': manager,
  'cyborg:deployable:get_one': manager,
  'cyborg:deployable:program': admin,
  'cyborg:deployable:program_shell': admin,
  'cyborg:attribute:get_all': manager,
  'cyborg:attribute:get_one': manager,
  'cyborg:attribute:create': admin,
  'cyborg:attribute:delete': admin,
  // A manager is a project's role: the lists of the whole cloud are for its administrators, or for
  // roles that the deployment names. A tenant sees what is its project's.
  'cyborg:operator:history:get_all': reader,
  'cyborg:operator:usage:get_all': reader,
  'cyborg:operator:host:get_all': admin,
  'cyborg:operator:host:get_one': admin,
  'cyborg:operator:host:forget': admin,
  'cyborg:operator:host:rediscover': admin,
  'cyborg:operator:host:drain': admin,
  'cyborg:operator:host:resume': admin,
  'cyborg:operator:host:settle': admin,
  // Who may not list hosts sees the own project only, and of the capacity whether there is any.
  'cyborg:operator:assignment:get_all': reader,
  'cyborg:operator:capacity:get': reader,
  // Nova and Keystone decide by the caller's own token.
  'cyborg:operator:name:get_all': reader,
  'cyborg:operator:incident:get_all': admin,
  'cyborg:operator:reconcile:run': admin,
  'cyborg:operator:reap:run': admin,
  'cyborg:operator:device:grant': admin,
  'cyborg:operator:device:reset': admin,
  'cyborg:operator:firmware:get_all': admin,
  'cyborg:operator:firmware:get_image': admin,
  'cyborg:operator:baseline:get_all': admin,
  'cyborg:operator:baseline:set': admin,
  'cyborg:operator:baseline:delete': admin,
  'cyborg:operator:hold:get_all': admin,
  'cyborg:operator:hold:set': admin,
  'cyborg:operator:profile:get_all': admin,
  'cyborg:operator:profile:get_one': admin,
  'cyborg:operator:profile:update': admin,
  'cyborg:operator:profile:enable': admin,
  'cyborg:operator:profile:disable': admin,
  // A tenant sees its own only; who may list all sees each.
  'cyborg:operator:quota:get_all': admin,
  'cyborg:operator:quota:get_one': reader,
  'cyborg:operator:quota:set': admin,
  'cyborg:operator:quota:delete': admin,
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type PolicyRule = keyof typeof policies;

/** Rule → the roles that a deployment sets instead. An empty list forbids the action to all. */
export type PolicyOverrides = Readonly<Partial<Record<PolicyRule, readonly string[]>>>;

export const policyRules = Object.keys(policies) as PolicyRule[];

/** Roles, any of which is enough. */
export function rolesFor(rule: PolicyRule, overrides: PolicyOverrides): readonly string[] {
  return overrides[rule] ?? policies[rule];
}

export function isAllowed(
  rule: PolicyRule,
  { roles }: { readonly roles: readonly string[] },
  overrides: PolicyOverrides,
): boolean {
  return hasRole(roles, rolesFor(rule, overrides));
}
