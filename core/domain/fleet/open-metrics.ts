// The metrics of `GET /operator/v1/metrics`: the source of the answer, and of the table in
// docs/operations/metrics.md. None has a label for a host, a server or a device: a cloud has too
// many of them.

import type { MetricFamily } from '#core/shapes/fleet.ts';

/** Seconds; a bind has 240 by default. */
export const preparationBuckets = [1, 2, 5, 10, 30, 60, 120, 240];

export const openMetrics = {
  cyborg_devices: {
    type: 'gauge',
    labels: ['type', 'model', 'state'],
    help: 'Devices that hosts report.',
  },
  cyborg_handles: {
    type: 'gauge',
    labels: ['resource_class', 'model', 'state'],
    help: 'Attach handles: what a server can get of a device.',
  },
  cyborg_project_handles: {
    type: 'gauge',
    labels: ['project_id', 'resource_class', 'model'],
    help: 'Attach handles that the servers of a project hold.',
  },
  cyborg_capacity_servers: {
    type: 'gauge',
    labels: ['profile'],
    help: 'More servers that fit with the first groups of the device profile.',
  },
  cyborg_hosts: {
    type: 'gauge',
    labels: ['state'],
    help: 'Hosts by the state of their agent.',
  },
  cyborg_hosts_drained: {
    type: 'gauge',
    labels: [],
    help: 'Hosts that an operator has drained.',
  },
  cyborg_hosts_silent: {
    type: 'gauge',
    labels: [],
    help: 'Hosts that count as online, since their connection is not known to have ended, but report nothing.',
  },
  cyborg_incidents: {
    type: 'gauge',
    labels: ['kind'],
    help: 'What needs attention, by the kind of incident.',
  },
  cyborg_binds: {
    type: 'counter',
    labels: ['outcome'],
    help: 'Binds of accelerators to servers, by their outcome.',
  },
  cyborg_bind_preparation_seconds: {
    type: 'histogram',
    labels: ['le'],
    help: 'From the claim to Bound, of binds that their host prepared.',
  },
  cyborg_fleet_measured_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the measurement of devices, handles and capacity began.',
  },
  cyborg_hosts_measured_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the states of hosts were measured.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export type OpenMetric = keyof typeof openMetrics;
