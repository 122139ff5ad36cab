// Enforces the policy; the table of rules is core/domain/policy.ts.

import type { Caller } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import { type PolicyOverrides, type PolicyRule, rolesFor } from '#core/domain/policy.ts';

/** @throws Forbidden naming the rule */
export function enforce(rule: PolicyRule, caller: Caller, overrides: PolicyOverrides): void {
  const allowed = rolesFor(rule, overrides);
  if (caller.roles.some((role) => allowed.includes(role))) return;
  const needed =
    allowed.length > 0 ? `one of the roles ${allowed.join(', ')}` : 'a role, but the rule has none';
  throw new Forbidden(`Policy does not allow ${rule} to be performed: it needs ${needed}.`);
}

/** Where the body of the request says which of the rules counts. @throws Forbidden */
export function enforceOne(
  rules: readonly [PolicyRule, ...PolicyRule[]],
  caller: Caller,
  overrides: PolicyOverrides,
): void {
  const isAllowed = rules.some((rule) =>
    caller.roles.some((role) => rolesFor(rule, overrides).includes(role)),
  );
  if (!isAllowed) enforce(rules[0], caller, overrides);
}

/** A caller who may list hosts sees all projects; a tenant sees its own. */
export function isOperator(
  { settings }: { readonly settings: { readonly policy: PolicyOverrides } },
  { roles }: Caller,
): boolean {
  const allowed = rolesFor('cyborg:operator:host:get_all', settings.policy);
  return roles.some((role) => allowed.includes(role));
}
