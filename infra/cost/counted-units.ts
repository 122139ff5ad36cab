// What each thing that happens takes of AWS, counted. test/integration/counted-units.test.ts lives each
// of them on real engines and holds these numbers to what it counts; test/agent/traffic.test.ts does so
// for the messages of a host's agent. Nothing here is guessed.

/** Of AWS, for one thing that happens once. */
export interface Units {
  /** To API Gateway; each invokes a function. */
  readonly requests: number;
  /** DynamoDB's write and read request units. */
  readonly writes: number;
  readonly reads: number;
  /** Through our queues; each, at worst, invokes a consumer by itself. */
  readonly messages: number;
  /** Of those, brought by an IoT rule. */
  readonly ruled: number;
  /** Records of the streams that pass the filters: at worst an invocation of `changes` each. */
  readonly changes: number;
  /** Likewise of `announcements`, and the events that it puts. */
  readonly announced: number;
  readonly events: number;
  /** Of a log, by which metrics are counted. */
  readonly metricLines: number;
  /** Invocations of functions that X-Ray traces; how many of them it records is a matter of their rate. */
  readonly traceable: number;
  /** Made of AWS IoT, and cancelled there. */
  readonly jobs: number;
  readonly cancels: number;
  readonly objectsPut: number;
  readonly objectsRead: number;
}

export type Workload = keyof typeof countedUnits;

export const countedUnits = {
  /** A server with one accelerator, from Nova's GET of the profile to its DELETE. */
  pci: {
    requests: 5,
    writes: 21,
    reads: 9.5,
    messages: 1,
    ruled: 0,
    changes: 2,
    announced: 2,
    events: 2,
    metricLines: 3,
    traceable: 8,
    jobs: 0,
    cancels: 0,
    objectsPut: 0,
    objectsRead: 0,
  },
  vgpu: {
    requests: 5,
    writes: 38,
    reads: 25.5,
    messages: 5,
    ruled: 2,
    changes: 4,
    announced: 3,
    events: 2,
    metricLines: 3,
    traceable: 14,
    jobs: 2,
    cancels: 1,
    objectsPut: 0,
    objectsRead: 0,
  },
  /** Its region is programmed with an image that no host has had before, and reported. */
  fpga: {
    requests: 5,
    writes: 59,
    reads: 48.5,
    messages: 7,
    ruled: 2,
    changes: 6,
    announced: 6,
    events: 2,
    metricLines: 3,
    traceable: 14,
    jobs: 1,
    cancels: 0,
    objectsPut: 1,
    objectsRead: 1,
  },
  /** A host says that nothing has changed. */
  heartbeat: {
    requests: 0,
    writes: 1,
    reads: 1,
    messages: 1,
    ruled: 1,
    changes: 0,
    announced: 0,
    events: 0,
    metricLines: 0,
    traceable: 0,
    jobs: 0,
    cancels: 0,
    objectsPut: 0,
    objectsRead: 0,
  },
  /** It describes its three devices, though nothing has changed. */
  fullReport: {
    requests: 0,
    writes: 3,
    reads: 2,
    messages: 1,
    ruled: 1,
    changes: 0,
    announced: 0,
    events: 0,
    metricLines: 0,
    traceable: 0,
    jobs: 0,
    cancels: 0,
    objectsPut: 0,
    objectsRead: 0,
  },
  /** They are compared with Placement, and what is free and in use of them is counted. */
  comparisons: {
    requests: 0,
    writes: 0,
    reads: 20,
    messages: 3,
    ruled: 0,
    changes: 0,
    announced: 0,
    events: 0,
    metricLines: 16,
    traceable: 0,
    jobs: 0,
    cancels: 0,
    objectsPut: 0,
    objectsRead: 0,
  },
  /**
   * The schedule's, while there is nothing to do. Three deployables are all that there are; the reaper reads
   * the handles of a hundred at most.
   */
  sweep: {
    requests: 0,
    writes: 0,
    reads: 31.5,
    messages: 0,
    ruled: 0,
    changes: 0,
    announced: 0,
    events: 0,
    metricLines: 0,
    traceable: 0,
    jobs: 0,
    cancels: 0,
    objectsPut: 0,
    objectsRead: 0,
  },
  /** A host boots, and has to make the vGPU of one server again. */
  boot: {
    requests: 0,
    writes: 20,
    reads: 23,
    messages: 4,
    ruled: 2,
    changes: 3,
    announced: 2,
    events: 1,
    metricLines: 2,
    traceable: 6,
    jobs: 1,
    cancels: 0,
    objectsPut: 0,
    objectsRead: 0,
  },
} as const satisfies Record<string, Units>;

/** The longest, to the next 50 bytes. */
export const countedMetricLine = { bytes: 350 } as const;

/** Of a host's agent over MQTT. */
export const countedTraffic = {
  /** One job, from its notice to its end. */
  job: { fromHost: 3, toHost: 5 },
} as const;
