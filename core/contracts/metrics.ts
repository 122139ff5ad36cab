// The table of metrics that functions count. CloudWatch extracts them from the functions' logs
// (embedded metric format), so counting needs no call. Streams and queues deliver at least once,
// so a count can be too high but never too low.
//
// Each metric has at most one dimension besides the stage, with few values: no project, host or
// uuid, which would create a separate metric for each. docs/operations.md shows the table.

import { handleUses } from '#core/domain/capacity/handle-uses.ts';
import { shownStates } from '#core/domain/host/host-state.ts';
import { bindKinds } from '#core/domain/outbox/domain-events.ts';
import { bindFailureCauses } from '#core/shapes/vocabulary/words.ts';

export const metricNamespace = 'Cyborg';

/** powertools adds the service as a dimension; it is the same for all. */
export const metricService = 'cyborg';

export interface MetricRow {
  readonly name: string;
  readonly unit: 'Count' | 'Milliseconds';
  readonly dimension?: { readonly name: 'kind' | 'cause'; readonly values: readonly string[] };
  /** The function that counts the metric. */
  readonly from: string;
  readonly meaning: string;
}

export const metrics = [
  {
    name: 'ArqsBound',
    unit: 'Count',
    dimension: { name: 'kind', values: bindKinds },
    from: 'announcements',
    meaning: 'ARQs that became Bound, by what their bind waited for',
  },
  {
    name: 'BindLatency',
    unit: 'Milliseconds',
    dimension: { name: 'kind', values: ['by-host', 'after-boot'] },
    from: 'announcements',
    meaning: 'from the claim or the boot to Bound, for binds with host work',
  },
  {
    name: 'ArqsFailed',
    unit: 'Count',
    dimension: { name: 'cause', values: [...bindFailureCauses, 'unknown'] },
    from: 'announcements',
    meaning: 'ARQs that became BindFailed',
  },
  {
    name: 'ArqsReleased',
    unit: 'Count',
    from: 'announcements',
    meaning: 'ARQs that were deleted or unbound',
  },
  {
    name: 'QuarantinesBegun',
    unit: 'Count',
    from: 'announcements',
    meaning: 'attach handles that entered quarantine',
  },
  {
    name: 'DevicesAdded',
    unit: 'Count',
    from: 'announcements',
    meaning: 'devices that hosts reported as new',
  },
  {
    name: 'DevicesRemoved',
    unit: 'Count',
    from: 'announcements',
    meaning: 'devices that hosts no longer report',
  },
  {
    name: 'DevicesNotAttached',
    unit: 'Count',
    from: 'announcements',
    meaning: 'running servers that lack a bound device, or have one that is not bound to them',
  },
  {
    name: 'NovaToldAfter',
    unit: 'Milliseconds',
    from: 'nova-events',
    meaning:
      "from the claim to Nova's answer to the event, for binds that its list did not wait for",
  },
  {
    name: 'NovaNotTold',
    unit: 'Count',
    from: 'nova-events',
    meaning: 'binds whose event Nova did not accept while it waited',
  },
  {
    name: 'AgentsConnected',
    unit: 'Count',
    from: 'host-presence',
    meaning: 'agent connections that began',
  },
  {
    name: 'AgentsDisconnected',
    unit: 'Count',
    from: 'host-presence',
    meaning: 'agent connections that ended',
  },
  {
    name: 'ReportsInConflict',
    unit: 'Count',
    from: 'inventory-reports',
    meaning: 'reports that were not applied, since two agents report as one host',
  },
  {
    name: 'DevicesRefused',
    unit: 'Count',
    from: 'inventory-reports',
    meaning:
      'refused devices of reports: their description breaks the contract, or their card is another one than before',
  },
  {
    name: 'Handles',
    unit: 'Count',
    dimension: { name: 'kind', values: handleUses },
    from: 'sweep',
    meaning: 'attach handles by use, at the end of each measurement of the fleet',
  },
  {
    name: 'Hosts',
    unit: 'Count',
    dimension: { name: 'kind', values: shownStates },
    from: 'sweep',
    meaning: 'hosts by state, at the same time',
  },
  {
    name: 'DevicesOfferedTwice',
    unit: 'Count',
    from: 'provider-syncs',
    meaning:
      'devices with a conflicting provider of Nova or another service; counted at each comparison',
  },
  {
    name: 'InstancesReaped',
    unit: 'Count',
    from: 'sweep',
    meaning:
      'unused instances whose ARQs were released: deleted in Nova, or on no host; also by looks of `nova-events`',
  },
  {
    name: 'ReaperRefused',
    unit: 'Count',
    dimension: { name: 'cause', values: ['too-many', 'blind'] },
    from: 'sweep',
    meaning: 'sweeps and looks in which nothing was released although instances seem to be gone',
  },
] as const satisfies readonly MetricRow[];

export type MetricName = (typeof metrics)[number]['name'];

export interface MetricValue {
  readonly name: MetricName;
  /** Value of the metric's dimension, if it has one. */
  readonly dimension?: string;
  readonly value: number;
}
