// The table of IoT rules: which topic feeds which queue. `infra/` creates topic rules from it,
// `local/` matches messages against it. Each rule wraps the unchanged payload with data of the
// broker: the sender's thing name comes from `topic()`, never from the payload.

import { ruleName } from '#core/contracts/topics.ts';
import type { QueueName } from './queues.ts';

export interface RuleRow {
  /** Without the stage; see {@link ruleName}. */
  readonly name: string;
  /** Topic filter; `{stage}` is replaced. */
  readonly filter: string;
  /** Which segment of the topic (from 1, as `topic(n)` counts) is the host's thing name. */
  readonly thingSegment: number;
  /** Prefix of that segment: AWS's own topics carry messages of all stages of an account. */
  readonly startsWith?: string;
  readonly queue: QueueName;
}

export const rules: readonly RuleRow[] = [
  {
    name: 'inventory_reports',
    filter: '{stage}/hosts/+/inventory',
    thingSegment: 3,
    queue: 'inventory-reports',
  },
  // The answer to a work message; the end of a job has a rule of its own.
  {
    name: 'work_ended',
    filter: '{stage}/hosts/+/work-ended',
    thingSegment: 3,
    queue: 'job-events',
  },
  // https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html
  {
    name: 'host_connected',
    filter: '$aws/events/presence/connected/+',
    thingSegment: 5,
    startsWith: '{stage}:',
    queue: 'host-presence',
  },
  {
    name: 'host_disconnected',
    filter: '$aws/events/presence/disconnected/+',
    thingSegment: 5,
    startsWith: '{stage}:',
    queue: 'host-presence',
  },
  {
    name: 'certificate_asked',
    filter: '{stage}/hosts/+/certificate-request',
    thingSegment: 3,
    queue: 'host-presence',
  },
  // https://docs.aws.amazon.com/iot/latest/developerguide/events-jobs.html
  {
    name: 'job_ended',
    filter: '$aws/events/jobExecution/+/+',
    // This segment is the job id, not a thing; only AWS publishes below $aws/events.
    thingSegment: 4,
    startsWith: '{stage}-',
    queue: 'job-events',
  },
];

/**
 * The rule's name and SQL for one stage. Payloads are base64, because they may not be valid JSON.
 */
export function ruleStatement(row: RuleRow, stage: string): { name: string; sql: string } {
  const filter = row.filter.replace('{stage}', stage);
  const start = row.startsWith?.replace('{stage}', stage);
  return {
    name: ruleName(stage, row.name),
    sql:
      `SELECT topic(${row.thingSegment}) AS thing, topic() AS topic, timestamp() AS received_at, ` +
      `encode(*, 'base64') AS payload FROM '${filter}'` +
      (start === undefined ? '' : ` WHERE startswith(topic(${row.thingSegment}), '${start}')`),
  };
}
