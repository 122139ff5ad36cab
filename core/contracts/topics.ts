// The MQTT topics between hosts and cloud, and the host's name as a thing name.
// A topic names the host it belongs to; what a message says about its sender is never believed.

/**
 * The stage, a colon and the host's name with colons for dots: things may be named with
 * `[a-zA-Z0-9:_-]` only. Neither a stage nor a host name holds a colon, so each pair has a name of its
 * own. https://docs.aws.amazon.com/iot/latest/apireference/API_CreateThing.html
 */
export function thingName(stage: string, hostname: string): string {
  return `${stage}:${hostname.replaceAll('.', ':')}`;
}

/** Of a thing of any stage; see {@link isThingOf}. */
export function hostnameOf(thing: string): string {
  return thing.slice(thing.indexOf(':') + 1).replaceAll(':', '.');
}

export function isThingOf(stage: string, thing: string): boolean {
  return thing.startsWith(`${stage}:`);
}

/** Of the stage's hosts: name of their thing type, and of the policy that goes with each certificate. */
export function computeNodeName(stage: string): string {
  return `${stage}-compute-node`;
}

/**
 * Whether the text can be a stage: a prefix of names and topics. It has at most 15 characters, because AWS
 * allows 64 in the id of a job (job-ids.ts).
 */
export function isStage(text: string): boolean {
  return /^[a-z][a-z0-9-]{0,14}$/.test(text);
}

// No underscore: providers are named `<host>_<rest>`, and no host may come to name another's. At most
// 107 characters: a thing's name may have 128, and the stage and the colon take some of them.
const hostnamePattern = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,105}[a-zA-Z0-9])?$/;

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
