// What an operator reads in an alarm: what it means, how urgent it is, what to run first, and
// which lines of the logs to look at. docs/operations/ has the same; a test compares them.

import type { LogsQuery } from './logs-insights.ts';

/**
 * - page: tenants cannot boot servers, or a device may not be safe. Act at once.
 * - ticket: capacity or a delay. Act on a working day.
 */
export const severities = ['page', 'ticket'] as const;
export type Severity = (typeof severities)[number];

/** `<stage>` is a placeholder in commands and in log groups. */
export interface AlarmEntry {
  readonly severity: Severity;
  readonly meaning: string;
  readonly firstCommand: string;
  /** The last hour in Logs Insights; absent where logs do not help. */
  readonly logs?: LogsQuery;
}

const doctor = 'cyborg-ops doctor --environment <stage>.json';
const groupOf = (name: string) => `/aws/lambda/<stage>-${name}`;
const saying = (message: string, ...names: readonly string[]): LogsQuery => ({
  groups: names.map(groupOf),
  query: `filter message = "${message}" | sort @timestamp desc`,
});
const failing = (...names: readonly string[]): LogsQuery => ({
  groups: names.map(groupOf),
  query: 'filter level = "ERROR" or @message like "timed out" | sort @timestamp desc',
});
/** A look at the messages leaves them in the queue. */
const dead = (severity: Severity, queue: string, meaning: string, consumer?: string) => ({
  severity,
  meaning,
  firstCommand: `aws sqs receive-message --queue-url $(aws sqs get-queue-url --queue-name <stage>-${queue} --output text) --message-attribute-names cause --visibility-timeout 0`,
  ...(consumer !== undefined && { logs: failing(consumer) }),
});
const page = (meaning: string, firstCommand: string, logs?: LogsQuery): AlarmEntry => ({
  severity: 'page',
  meaning,
  firstCommand,
  ...(logs && { logs }),
});
const ticket = (meaning: string, firstCommand: string, logs?: LogsQuery): AlarmEntry => ({
  ...page(meaning, firstCommand, logs),
  severity: 'ticket',
});

export const alarmEntries = {
  'nova-events-dead': dead(
    'page',
    'nova-events-dead',
    'Nova did not receive the end of a bind, and its build fails.',
    'nova-events',
  ),
  'host-jobs-dead': dead(
    'page',
    'host-jobs-dead',
    'A host was not asked to prepare or to release a device.',
    'host-jobs',
  ),
  'job-events-dead': dead(
    'page',
    'job-events-dead',
    "The end of a host's job was not recorded; its bind fails at its deadline.",
    'job-events',
  ),
  'inventory-reports-dead': dead(
    'ticket',
    'inventory-reports-dead',
    'The report of a host was not applied.',
    'inventory-reports',
  ),
  'host-presence-dead': dead(
    'ticket',
    'host-presence-dead',
    "A host's connection or disconnection was not recorded.",
    'host-presence',
  ),
  'provider-syncs-dead': dead(
    'ticket',
    'provider-syncs-dead',
    'Placement does not have what the inventory says.',
    'provider-syncs',
  ),
  'changes-dead': dead(
    'page',
    'changes-dead',
    'The follow-up work of a committed change was lost.',
    'changes',
  ),
  'announcements-dead': dead(
    'ticket',
    'announcements-dead',
    'A domain event was not published on EventBridge.',
    'announcements',
  ),
  'late-events-dead': dead(
    'ticket',
    'late-events-dead',
    'EventBridge has not taken a domain event for three days.',
    'late-events',
  ),
  'rules-dead': dead('ticket', 'rules-dead', 'AWS IoT could not reach a queue.'),

  'api-errors': page('The API answers with 5xx.', doctor, {
    groups: ['/aws/vendedlogs/<stage>-cyborg-api'],
    query: 'filter status like /^5/ | stats count() as answers by route, status, error',
  }),
  unauthorized: ticket(
    'The API answers many requests with 401.',
    'aws logs filter-log-events --log-group-name /aws/vendedlogs/<stage>-cyborg-api --start-time $(date -d "10 min ago" +%s000) --filter-pattern \'{ $.status = "401" }\'',
    {
      groups: ['/aws/vendedlogs/<stage>-cyborg-api'],
      query: 'filter status = "401" | stats count() as answers by from | sort answers desc',
    },
  ),
  'certificate-ends': ticket(
    "The certificate of the API's domain name ends within 30 days.",
    'aws acm list-certificates --output table',
  ),
  'consumers-fail': page(
    'Functions that binds wait for end in errors.',
    doctor,
    failing('changes', 'nova-events', 'host-jobs', 'job-events'),
  ),
  'functions-throttled': page(
    'Lambda runs no more functions at once, and binds wait or fail.',
    'aws lambda get-account-settings',
  ),
  'tables-throttled': page(
    'DynamoDB throttles a table.',
    'aws dynamodb describe-table --table-name <stage>-arqs',
  ),
  'binds-fail': page(
    'Binds fail, and not because of their profiles.',
    'cyborg-ops incidents --kind failed-bind',
    saying('Bind failed', 'host-jobs', 'job-events', 'sweep'),
  ),
  'nova-not-told': page(
    'Nova did not accept the event of a bind while it waited.',
    doctor,
    saying('Nova not notified in time', 'nova-events'),
  ),
  'reaper-refuses': ticket(
    'Instances seem to be gone, and their devices are not released.',
    'cyborg-ops reap --dry-run',
    failing('sweep'),
  ),
  'handles-quarantined': ticket(
    'Attach handles are not offered, since they may hold data of their last tenant.',
    'cyborg-ops incidents --kind quarantine',
    saying('Handles quarantined', 'sweep'),
  ),
  'devices-offered-twice': page(
    'Nova or another service offers a device of ours, too.',
    doctor,
    failing('provider-syncs'),
  ),
  'devices-not-attached': ticket(
    'A server runs without the device that is bound to it, or with one that is not.',
    'cyborg-ops incidents --kind device-not-attached',
    saying('Device not attached as bound', 'inventory-reports'),
  ),
  'reports-in-conflict': page(
    'Identity conflict: two agents report as one host.',
    'cyborg-ops hosts list --state conflict',
    saying('Identity conflict: two agents report as one host', 'inventory-reports'),
  ),
  'hosts-lost': page(
    'Many hosts lost their connection at once.',
    'cyborg-ops hosts list --state away',
    saying('Agent disconnected', 'host-presence'),
  ),
  'hosts-absent': ticket(
    'One host in ten, or more, has no agent connected.',
    'cyborg-ops hosts list --state away',
    saying('Agent disconnected', 'host-presence'),
  ),
  'reports-silent': page(
    'No host has reported for an hour.',
    'aws iot list-topic-rules',
    failing('inventory-reports'),
  ),
  'binds-slow': ticket(
    'One bind in ten that needs its host takes two minutes or more.',
    doctor,
    failing('host-jobs'),
  ),
  'placement-late': ticket(
    'A device was not brought to Placement for an hour.',
    doctor,
    saying('Placement not synchronised yet', 'provider-syncs'),
  ),
  'announcements-late': ticket(
    'Events on EventBridge wait for five minutes or more.',
    'aws logs filter-log-events --log-group-name /aws/lambda/<stage>-announcements --start-time $(date -d "30 min ago" +%s000) --filter-pattern ERROR',
    failing('announcements'),
  ),
  'changes-late': page(
    'The follow-up work of committed changes waits for a minute or more.',
    'aws logs filter-log-events --log-group-name /aws/lambda/<stage>-changes --start-time $(date -d "30 min ago" +%s000) --filter-pattern ERROR',
    failing('changes'),
  ),
  'sweep-fails': page(
    'No deadline was enforced for three minutes.',
    'aws logs filter-log-events --log-group-name /aws/lambda/<stage>-sweep --start-time $(date -d "30 min ago" +%s000) --filter-pattern ERROR',
    failing('sweep'),
  ),
} as const satisfies Record<string, AlarmEntry>;

export type AlarmName = keyof typeof alarmEntries;

/** The commands and log groups of one stage. */
export const inStage = (stage: string, text: string): string => text.replaceAll('<stage>', stage);
