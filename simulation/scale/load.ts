// What a simulated cloud is asked for, and what becomes of it.

import type { QueueName } from '#core/contracts/queues/queues.ts';
import type { Quotas } from './limits.ts';

export interface Load {
  /** Servers per second that request a PCI device or a vGPU, and the duration of the load. */
  readonly pciPerSecond?: number;
  readonly vgpusPerSecond?: number;
  /** Servers with a vGPU of a pool that is made ahead. */
  readonly pooledPerSecond?: number;
  readonly seconds: number;
  /** Lifetime of a server after its bind. */
  readonly lifeSeconds?: number;
  /** Hosts that boot in the first second, each with this many vGPUs in use. */
  readonly bootingHosts?: number;
  readonly instancesPerHost?: number;
  readonly quotas?: Partial<Quotas>;
  /** GPUs that the vGPUs are spread over. */
  readonly gpus?: number;
  /** Concurrency of the consumer of `host-jobs`, if it differs from the table's. */
  readonly hostJobsConcurrency?: number;
}

export interface Outcome {
  /** Seconds from PATCH until Nova knows of it, per bound server. */
  readonly pci: readonly number[];
  readonly vgpu: readonly number[];
  readonly counts: Readonly<Record<Counted, number>>;
  readonly deepest: Readonly<Partial<Record<QueueName, number>>>;
  readonly dead: number;
  /** Seconds from boot to report, per host. */
  readonly reported: readonly number[];
  readonly jobMade: readonly number[];
  readonly boundAgain: readonly number[];
}

type Counted =
  | 'asked'
  | 'failed'
  | 'quarantined'
  | 'createJobRefused'
  | 'cancelJobRefused'
  | 'connectsRefused';
