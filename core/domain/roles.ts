// Roles of Keystone. Keystone keeps the case in which a role was created, and oslo.policy compares
// roles without case, so a cloud may have Admin and Member.

/** Whether one of the roles is allowed. No other code compares roles. */
export function hasRole(roles: readonly string[], allowed: readonly string[]): boolean {
  const names = new Set(allowed.map((role) => role.toLowerCase()));
  return roles.some((role) => names.has(role.toLowerCase()));
}
