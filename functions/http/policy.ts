// Enforces the policy; the table of rules is core/domain/policy.ts.

import type { Caller } from '#core/domain/caller.ts';
import { Forbidden } from '#core/domain/errors.ts';
import { isAllowed, type PolicyOverrides, type PolicyRule, rolesFor } from '#core/domain/policy.ts';

/** @throws Forbidden naming the rule */
export function enforce(rule: PolicyRule, caller: Caller, overrides: PolicyOverrides): void {
  if (isAllowed(rule, caller, overrides)) return;
  const allowed = rolesFor(rule, overrides);
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
  if (!rules.some((rule) => isAllowed(rule, caller, overrides))) {
    enforce(rules[0], caller, overrides);
  }
}

/** A caller who may list hosts sees all projects; a tenant sees its own. */
export function isOperator(
  { settings }: { readonly settings: { readonly policy: PolicyOverrides } },
  caller: Caller,
): boolean {
  return isAllowed('cyborg:operator:host:get_all', caller, settings.policy);
}
