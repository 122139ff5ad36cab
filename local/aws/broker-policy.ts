// What a host may do at the broker, as in the IoT policy of infra/: use the topics of its own
// inventory, its own work messages, certificates and jobs.

import {
  certificateRequestTopic,
  certificateTopic,
  inventoryTopic,
  workEndTopic,
  workTopic,
} from '#core/contracts/topics.ts';

export function mayPublish(stage: string, thing: string, topic: string): boolean {
  const inventory = inventoryTopic(stage, thing);
  const plain = inventory.split('/').slice(3).join('/');
  const ownTopics = [
    inventory,
    plain,
    workEndTopic(stage, thing),
    certificateRequestTopic(stage, thing),
  ];
  return ownTopics.includes(topic) || isJobsTopic(thing, topic);
}

export function maySubscribe(stage: string, thing: string, filter: string): boolean {
  const ownFilters = [workTopic(stage, thing), certificateTopic(stage, thing)];
  return ownFilters.includes(filter) || isJobsTopic(thing, filter);
}

/** Whether the topic is one of the host's jobs topics. Messages there do not go to the rules. */
export function isJobsTopic(thing: string, topic: string): boolean {
  return topic.startsWith(`$aws/things/${thing}/jobs/`);
}
