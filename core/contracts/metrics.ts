// The table of metrics: what functions count, by name. CloudWatch reads them from the functions' logs
// (embedded metric format), so counting is no call and costs nothing where nothing happens. Streams and
// queues deliver at least once, so what is counted may be counted twice, never not at all.
//
// Each has at most one dimension besides the stage, of few values: no project, host or uuid, which
// would make a metric of its own of each. docs/operations.md shows the table.

import { bindFailureCauses } from '../domain/arq.ts';
import { bindKinds } from '../domain/domain-events.ts';
import { handleUses, hostStates } from '../domain/usage-metrics.ts';

export const metricNamespace = 'Cyborg';

/** Beside the stage, powertools names the service; it is the same for all. */
export const metricService = 'cyborg';

export interface MetricRow {
  readonly name: string;
  readonly unit: 'Count' | 'Milliseconds';
  readonly dimension?: { readonly name: 'kind' | 'cause'; readonly values: readonly string[] };
  /** The function that counts it. */
  readonly from: string;
  readonly meaning: string;
}

export const metrics = [
  {
    name: 'ArqsBound',
    unit: 'Count',
    dimension: { name: 'kind', values: bindKinds },
    from: 'changes',
    meaning: 'ARQs that became Bound; by what they waited for',
  },
  {
    name: 'BindLatency',
    unit: 'Milliseconds',
    dimension: { name: 'kind', values: ['by-host', 'after-boot'] },
    from: 'changes',
    meaning: "from the claim, or the host's boot, to Bound, where the host had something to do",
  },
  {
    name: 'ArqsFailed',
    unit: 'Count',
    dimension: { name: 'cause', values: [...bindFailureCauses, 'unknown'] },
    from: 'changes',
    meaning: 'ARQs that became BindFailed',
  },
  {
    name: 'ArqsReleased',
    unit: 'Count',
    from: 'changes',
    meaning: 'ARQs whose claim ended, deleted or unbound',
  },
  {
    name: 'QuarantinesBegun',
    unit: 'Count',
    from: 'changes',
    meaning: 'attach handles put into quarantine',
  },
  {
    name: 'DevicesAdded',
    unit: 'Count',
    from: 'changes',
    meaning: 'devices that hosts came to have',
  },
  {
    name: 'DevicesRemoved',
    unit: 'Count',
    from: 'changes',
    meaning: 'devices that hosts no longer report',
  },
  {
    name: 'NovaToldAfter',
    unit: 'Milliseconds',
    from: 'nova-events',
    meaning: "from the claim to Nova's answer to the event of a bind that held",
  },
  {
    name: 'NovaNotTold',
    unit: 'Count',
    from: 'nova-events',
    meaning: 'binds of which Nova could not be told while it waited',
  },
  {
    name: 'AgentsConnected',
    unit: 'Count',
    from: 'host-presence',
    meaning: 'connections of agents that began',
  },
  {
    name: 'AgentsDisconnected',
    unit: 'Count',
    from: 'host-presence',
    meaning: 'connections of agents that ended',
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
    meaning: 'devices of reports that were refused, since their report breaks the contract',
  },
  {
    name: 'Handles',
    unit: 'Count',
    dimension: { name: 'kind', values: handleUses },
    from: 'provider-syncs',
    meaning: 'attach handles by use: the sum of any hour',
  },
  {
    name: 'Hosts',
    unit: 'Count',
    dimension: { name: 'kind', values: hostStates },
    from: 'provider-syncs',
    meaning: 'hosts with devices, by whether their agent is there: the sum of any hour',
  },
  {
    name: 'DevicesOfferedTwice',
    unit: 'Count',
    from: 'provider-syncs',
    meaning: 'devices found to be offered by Nova or another, too; each again every hour',
  },
  {
    name: 'InstancesReaped',
    unit: 'Count',
    from: 'sweep',
    meaning: 'instances gone, or on no host, without a delete, whose ARQs were released',
  },
  {
    name: 'ReaperRefused',
    unit: 'Count',
    dimension: { name: 'cause', values: ['too-many', 'blind'] },
    from: 'sweep',
    meaning: 'sweeps in which nothing was released, although instances seem to be gone',
  },
] as const satisfies readonly MetricRow[];

export type MetricName = (typeof metrics)[number]['name'];

export interface MetricValue {
  readonly name: MetricName;
  /** Of the metric's dimension, where it has one. */
  readonly of?: string;
  readonly value: number;
}
