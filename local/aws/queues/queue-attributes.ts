// The attributes of a queue: their names, valid values and defaults.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html

import * as z from 'zod';
import { SqsError } from './errors.ts';

const accountId = '000000000000';
const region = 'us-east-1';

/** Limits a message with its attributes, and a whole batch. */
export const messageBytesMax = 1024 * 1024;

/** All values are text, as in SQS. */
export type QueueAttributes = Readonly<Record<string, string>>;

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** The attributes that a client may set; those of FIFO queues are missing. */
const settable: Record<string, { byDefault?: string; valid: z.ZodType }> = {
  DelaySeconds: { byDefault: '0', valid: whole(0, 900) },
  MaximumMessageSize: { byDefault: `${messageBytesMax}`, valid: whole(1024, messageBytesMax) },
  MessageRetentionPeriod: { byDefault: '345600', valid: whole(60, 1_209_600) },
  ReceiveMessageWaitTimeSeconds: { byDefault: '0', valid: whole(0, 20) },
  VisibilityTimeout: { byDefault: '30', valid: whole(0, 43_200) },
  RedrivePolicy: { valid: z.string().transform(parseRedrivePolicy) },
  // Stored and shown, without effect in the fake.
  RedriveAllowPolicy: { valid: z.string() },
  Policy: { valid: z.string() },
  SqsManagedSseEnabled: { byDefault: 'true', valid: z.enum(['true', 'false']) },
};

export const defaultAttributes: QueueAttributes = Object.fromEntries(
  Object.entries(settable).flatMap(([name, { byDefault }]) =>
    byDefault === undefined ? [] : [[name, byDefault]],
  ),
);

/** @throws SqsError naming the attribute that is unknown or out of range */
export function checkAttributes(attributes: QueueAttributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    const rule = settable[name];
    if (rule === undefined) {
      throw new SqsError('InvalidAttributeName', `Unknown Attribute ${name}.`);
    }
    // An empty value removes a policy.
    if (value === '' && rule.byDefault === undefined) continue;
    if (!rule.valid.safeParse(value).success) {
      throw new SqsError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`);
    }
  }
}

export interface RedrivePolicy {
  readonly deadLetterQueue: string;
  readonly receiveCountMax: number;
}

const redrivePolicy = z.object({
  deadLetterTargetArn: z.string(),
  maxReceiveCount: whole(1, 1000),
});

export function parseRedrivePolicy(text: string | undefined): RedrivePolicy | undefined {
  if (text === undefined || text === '') return undefined;
  const policy = redrivePolicy.parse(JSON.parse(text));
  return {
    deadLetterQueue: queueNameFromArn(policy.deadLetterTargetArn),
    receiveCountMax: policy.maxReceiveCount,
  };
}

export function queueArn(name: string): string {
  return `arn:aws:sqs:${region}:${accountId}:${name}`;
}

export function queueNameFromArn(arn: string): string {
  return arn.split(':').at(-1) ?? '';
}

export function queuePath(name: string): string {
  return `/${accountId}/${name}`;
}

/** The host in the URL is ignored: a queue outlives the port of its endpoint. */
export function queueNameFromUrl(url: string): string {
  return url.split('/').at(-1) ?? '';
}
