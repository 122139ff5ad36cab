// The MQTT topics between hosts and cloud, and the thing names of hosts. The topic identifies the
// sender; the sender fields of a payload are never trusted.

/**
 * The stage, a colon and the host's name with colons for dots: thing names allow `[a-zA-Z0-9:_-]`
 * only. Neither a stage nor a host name contains a colon, so the name is unique.
 * https://docs.aws.amazon.com/iot/latest/apireference/API_CreateThing.html
 */
export function thingName(stage: string, hostname: string): string {
  return `${stage}:${hostname.replaceAll('.', ':')}`;
}

/** The host name of a thing of any stage; see {@link isOfStage}. */
export function readHostname(thing: string): string {
  return thing.slice(thing.indexOf(':') + 1).replaceAll(':', '.');
}

export function isOfStage(stage: string, thing: string): boolean {
  return thing.startsWith(`${stage}:`);
}

/** Name of the hosts' thing type, and of the policy of their certificates. */
export function computeNodeName(stage: string): string {
  return `${stage}-compute-node`;
}

/**
 * Whether the text is a valid stage: a prefix of names and topics. It has at most 15 characters,
 * because AWS allows 64 in a job id (jobs/job-ids.ts).
 */
export function isStage(text: string): boolean {
  return /^[a-z][a-z0-9-]{0,14}$/.test(text);
}

// No underscore: providers are named `<host>_<rest>`, so a host name with one could collide. At
// most 107 characters: a thing's name has at most 128, stage and colon included.
const hostnamePattern = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,105}[a-zA-Z0-9])?$/;

/** Whether the text is a valid host name: it becomes part of topics, keys and provider names. */
export function isHostname(text: string): boolean {
  return hostnamePattern.test(text);
}

/**
 * Topic of a host's inventory reports, below its rule (Basic Ingest: no broker fee, no fan-out).
 */
export function inventoryTopic(stage: string, thing: string): string {
  return `$aws/rules/${ruleName(stage, 'inventory_reports')}/${stage}/hosts/${thing}/inventory`;
}

/** Topic of the control plane's work messages to a host. */
export function workTopic(stage: string, thing: string): string {
  return `${stage}/hosts/${thing}/work`;
}

/** Topic of a host's answers to work messages, below their rule. */
export function workEndTopic(stage: string, thing: string): string {
  return `$aws/rules/${ruleName(stage, 'work_ended')}/${stage}/hosts/${thing}/work-ended`;
}

/**
 * Topic of a host's requests for its next certificate, below their rule.
 */
export function certificateRequestTopic(stage: string, thing: string): string {
  const rule = ruleName(stage, 'certificate_asked');
  return `$aws/rules/${rule}/${stage}/hosts/${thing}/certificate-request`;
}

/** Topic of the control plane's answers to them. */
export function certificateTopic(stage: string, thing: string): string {
  return `${stage}/hosts/${thing}/certificate`;
}

/** Rule names allow letters, digits and underscores only. */
export function ruleName(stage: string, rule: string): string {
  return `${stage.replaceAll('-', '_')}_${rule}`;
}
