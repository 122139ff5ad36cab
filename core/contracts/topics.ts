// The MQTT topics between hosts and cloud, and the host's name as a thing name.
// A topic names the host it belongs to; what a message says about its sender is never believed.

/**
 * Things may be named with `[a-zA-Z0-9:_-]` only, hosts also with dots. No host name holds a colon,
 * so the two map one to one. https://docs.aws.amazon.com/iot/latest/apireference/API_CreateThing.html
 */
export function thingName(hostname: string): string {
  return hostname.replaceAll('.', ':');
}

export function hostnameOf(thing: string): string {
  return thing.replaceAll(':', '.');
}

// No underscore: providers are named `<host>_<rest>`, and no host may come to name another's.
const hostnamePattern = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,126}[a-zA-Z0-9])?$/;

/** Whether the text can be a compute node's name: it becomes part of topics, keys and providers. */
export function isHostname(text: string): boolean {
  return hostnamePattern.test(text);
}

/** Topic of a host's inventory reports, below its rule (Basic Ingest: no broker fee, no fan-out). */
export function inventoryTopic(stage: string, thing: string): string {
  return `$aws/rules/${ruleName(stage, 'inventory_reports')}/${stage}/hosts/${thing}/inventory`;
}

/** Rule names allow letters, digits and underscores only. */
export function ruleName(stage: string, rule: string): string {
  return `${stage.replaceAll('-', '_')}_${rule}`;
}
