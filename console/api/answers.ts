// The rows of the API's answers, as the schemas of the API describe them.

import type * as z from 'zod';
import type { arqAnswer } from '#core/contracts/api/accelerator-requests.ts';
import type { operatorProfile, profileAnswer } from '#core/contracts/api/device-profiles.ts';
import type { deviceAnswer, freedAnswer } from '#core/contracts/api/devices.ts';
import type {
  bindsAnswer,
  recordAnswer,
  reportAnswer,
  usageAnswer,
} from '#core/contracts/api/history.ts';
import type { aggregatesAnswer } from '#core/contracts/api/openstack.ts';
import type {
  drainedAnswer,
  hostAnswer,
  hostDetailAnswer,
  topologyAnswer,
} from '#core/contracts/api/operator/hosts.ts';
import type { incidentAnswer } from '#core/contracts/api/operator/incidents.ts';
import type {
  assignmentAnswer,
  capacityAnswer,
  hostCapacityAnswer,
} from '#core/contracts/api/operator/use.ts';
import type { firmwareAnswer } from '#core/contracts/api/programs.ts';

export type Host = z.infer<typeof hostAnswer>;
export type HostDetail = z.infer<typeof hostDetailAnswer>;
export type HostTopology = z.infer<typeof topologyAnswer>;
export type HostDevice = HostDetail['devices'][number];
export type Assignment = z.infer<typeof assignmentAnswer>;
export type Capacity = z.infer<typeof capacityAnswer>;
export type HostCapacity = z.infer<typeof hostCapacityAnswer>;
export type Incident = z.infer<typeof incidentAnswer>;
export type HistoryRecord = z.infer<typeof recordAnswer>;
export type Aggregate = z.infer<typeof aggregatesAnswer>['aggregates'][number];
export type Binds = z.infer<typeof bindsAnswer>;
export type FleetReport = z.infer<typeof reportAnswer>;
export type Usage = z.infer<typeof usageAnswer>;
export type UsageRow = Usage['usage'][number];
export type Device = z.infer<typeof deviceAnswer>;
export type Firmware = z.infer<typeof firmwareAnswer>;
export type Freed = z.infer<typeof freedAnswer>;
export type OperatorProfile = z.infer<typeof operatorProfile>;
export type Profile = z.infer<typeof profileAnswer>;
export type Arq = z.infer<typeof arqAnswer>;
export type Drained = z.infer<typeof drainedAnswer>;
