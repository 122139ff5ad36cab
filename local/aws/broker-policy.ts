// What a host may do at the broker, as the IoT policy in infra/ says it: its own inventory, its own
// jobs, nothing else.

import { inventoryTopic } from '#core/contracts/topics.ts';

export function mayPublish(stage: string, thing: string, topic: string): boolean {
  const ingest = inventoryTopic(stage, thing);
  const plain = ingest.split('/').slice(3).join('/');
  return topic === ingest || topic === plain || isJobsTopic(thing, topic);
}

export function maySubscribe(thing: string, filter: string): boolean {
  return isJobsTopic(thing, filter);
}

/** Below a host's own jobs; of these none is for the rules. */
export function isJobsTopic(thing: string, topic: string): boolean {
  return topic.startsWith(`$aws/things/${thing}/jobs/`);
}
