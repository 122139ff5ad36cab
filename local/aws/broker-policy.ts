// What a host may do at the broker, as in the IoT policy of infra/: use the topics of its own
// inventory and its own jobs.

import { inventoryTopic } from '#core/contracts/topics.ts';

export function mayPublish(stage: string, thing: string, topic: string): boolean {
  const ingest = inventoryTopic(stage, thing);
  const plain = ingest.split('/').slice(3).join('/');
  return topic === ingest || topic === plain || isJobsTopic(thing, topic);
}

export function maySubscribe(thing: string, filter: string): boolean {
  return isJobsTopic(thing, filter);
}

/** Whether the topic is one of the host's jobs topics. Messages there do not go to the rules. */
export function isJobsTopic(thing: string, topic: string): boolean {
  return topic.startsWith(`$aws/things/${thing}/jobs/`);
}
