// Routes that operators and tenants share show tenants their own project only.

import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { rolesFor } from '#core/domain/policy.ts';

/** Whether the caller may list the hosts, and so sees the whole cloud. */
export function isOperator({ settings }: Pick<Deps, 'settings'>, { roles }: Caller): boolean {
  const allowed = rolesFor('cyborg:operator:host:get_all', settings.policy);
  return roles.some((role) => allowed.includes(role));
}
