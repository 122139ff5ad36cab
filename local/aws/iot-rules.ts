// A fake IoT rules engine: sends a host's message, in the envelope of
// core/contracts/queues/rules.ts, to the queue that the rule names.

import { setTimeout as delay } from 'node:timers/promises';
import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { RuleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import { type RuleRow, rules } from '#core/contracts/queues/rules.ts';
import { ruleName } from '#core/contracts/topics.ts';
import { type Log, silentLog } from '#core/log.ts';

/** Waits between attempts; after the last, the sender keeps the message and sends it again. */
const retryDelaysMs = [50, 200, 800];

interface RuleEngineOptions {
  readonly stage: string;
  readonly sqs: SQSClient;
  readonly queueUrls: Readonly<Record<QueueName, string>>;
  readonly log?: Log;
}

interface RuleEngine {
  /**
   * Resolves when every rule that matches the topic has put the message in its queue. When it
   * rejects, some queues may have the message: queues deliver at least once.
   * @throws RuleActionFailed
   */
  deliver(topic: string, payload: Buffer): Promise<void>;
}

class RuleActionFailed extends Error {
  override readonly name = 'RuleActionFailed';
}

export function createRuleEngine(options: RuleEngineOptions): RuleEngine {
  const { stage, sqs, queueUrls, log = silentLog } = options;

  async function act(rule: RuleRow, envelope: RuleEnvelope): Promise<void> {
    const command = new SendMessageCommand({
      QueueUrl: queueUrls[rule.queue],
      MessageBody: JSON.stringify(envelope),
    });
    for (const delayMs of [...retryDelaysMs, undefined]) {
      try {
        await sqs.send(command);
        return;
      } catch (error) {
        log.warn('Rule action failed', { rule: rule.name, topic: envelope.topic, error });
        if (delayMs === undefined) {
          throw new RuleActionFailed(`Action of rule ${rule.name} failed.`, { cause: error });
        }
        await delay(delayMs);
      }
    }
  }

  return {
    deliver: async (published, payload) => {
      const { topic, rows } = rulesFor(stage, published);
      const segments = topic.split('/');
      await Promise.all(
        rows.map((rule) =>
          act(rule, {
            thing: segments[rule.thingSegment - 1] ?? '',
            topic,
            received_at: Date.now(),
            payload: payload.toString('base64'),
          }),
        ),
      );
    },
  };
}

/**
 * The rules for a published topic, and the topic as rules see it. A message below
 * `$aws/rules/<name>/` goes to the rule of that name alone, whatever the filter, and `topic()`
 * does not show that part.
 * https://docs.aws.amazon.com/iot/latest/developerguide/iot-basic-ingest.html
 */
export function rulesFor(stage: string, published: string): { topic: string; rows: RuleRow[] } {
  const ingest = /^\$aws\/rules\/([^/]+)\/(.+)$/.exec(published);
  if (ingest !== null) {
    const [, name, topic = ''] = ingest;
    return { topic, rows: rules.filter((rule) => ruleName(stage, rule.name) === name) };
  }
  const isMet = (rule: RuleRow) =>
    matches(rule.filter.replace('{stage}', stage), published) &&
    (published.split('/')[rule.thingSegment - 1] ?? '').startsWith(
      (rule.startsWith ?? '').replace('{stage}', stage),
    );
  return { topic: published, rows: rules.filter(isMet) };
}

/** Whether a topic matches an MQTT filter. */
export function matches(filter: string, topic: string): boolean {
  const filterLevels = filter.split('/');
  const topicLevels = topic.split('/');
  for (const [at, part] of filterLevels.entries()) {
    if (part === '#') return true;
    if (at >= topicLevels.length || (part !== '+' && part !== topicLevels[at])) return false;
  }
  return filterLevels.length === topicLevels.length;
}
