// Providers that have left their trees, until they are deleted. The time is part of the name, so
// that it holds for each message about the provider, and for an operator who lists providers.

/**
 * nova-compute renews its copy of a tree after 300 s, by default, and looks each minute:
 * https://docs.openstack.org/nova/latest/configuration/config.html#compute.resource_provider_association_refresh
 */
export const leftForMs = 600_000;

/** Placement takes 200 characters. */
const nameCharsMax = 200;

/** The name of a provider once it has left its tree. */
export function nameAfterLeaving(name: string, nowMs: number): string {
  const mark = ` (left its tree at ${new Date(nowMs).toISOString()})`;
  return `${name.slice(0, nameCharsMax - mark.length)}${mark}`;
}

/** When a provider with this name left its tree, ms; undefined if it has not. */
export function leftAtMs(name: string): number | undefined {
  const [, at] = / \(left its tree at (\S+Z)\)$/.exec(name) ?? [];
  return at === undefined ? undefined : Date.parse(at);
}
