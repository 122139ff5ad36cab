// The AWS units that each workload takes, counted. test/integration/counted-units.test.ts runs
// each workload on real engines and compares; test/agent/traffic.test.ts does so for the messages
// of an agent. No value here is a guess.

/** Units of AWS for one occurrence of a workload. */
export interface Units {
  /** Requests to API Gateway; each invokes a function. */
  readonly requests: number;
  /** DynamoDB's write and read request units. */
  readonly writes: number;
  readonly reads: number;
  /** Write request units that add to the history; they are counted in the writes, too. */
  readonly recorded: number;
  /** Size of the history's records times the days they are kept, to a hundred. */
  readonly keptKilobyteDays: number;
  /** Messages in our queues; each, at worst, invokes a consumer by itself. */
  readonly messages: number;
  /** Those of `nova-events`; each calls Nova. */
  readonly novaEvents: number;
  /** Messages that are leased while they are worked on. */
  readonly leased: number;
  /** Messages that come from an IoT rule. */
  readonly ruled: number;
  /** Messages whose consumer calls Nova, Placement or Glance. */
  readonly calling: number;
  /** Stream records that pass the filters: at worst an invocation of `changes` each. */
  readonly changes: number;
  /** The same for `announcements`, and its events. */
  readonly announced: number;
  readonly events: number;
  /** Lines of the functions' logs, without those from which metrics are extracted. */
  readonly logLines: number;
  /** Log lines from which metrics are extracted. */
  readonly metricLines: number;
  /** Invocations of traced functions; how many of them X-Ray records depends on their rate. */
  readonly traceable: number;
  /** Jobs that are created at AWS IoT, and jobs that are cancelled there. */
  readonly jobs: number;
  readonly cancels: number;
  /** Work messages to hosts. */
  readonly workMessages: number;
  readonly objectsPut: number;
  readonly objectsRead: number;
}

export const noUnits: Units = {
  requests: 0,
  writes: 0,
  reads: 0,
  recorded: 0,
  keptKilobyteDays: 0,
  messages: 0,
  novaEvents: 0,
  leased: 0,
  ruled: 0,
  calling: 0,
  changes: 0,
  announced: 0,
  events: 0,
  logLines: 0,
  metricLines: 0,
  traceable: 0,
  jobs: 0,
  cancels: 0,
  workMessages: 0,
  objectsPut: 0,
  objectsRead: 0,
};

export type Workload = keyof typeof countedUnits;

export const countedUnits = {
  /** A server with one accelerator, from Nova's GET of the profile to its DELETE. */
  pci: {
    ...noUnits,
    requests: 5,
    writes: 31,
    reads: 10,
    recorded: 9,
    keptKilobyteDays: 1700,
    messages: 1,
    novaEvents: 1,
    calling: 1,
    changes: 2,
    announced: 5,
    events: 2,
    logLines: 5,
    metricLines: 2,
    traceable: 8,
  },
  /** A pool makes its mdevs ahead, and replaces each one after its holder. */
  vgpuAhead: {
    ...noUnits,
    requests: 5,
    writes: 39,
    reads: 20,
    recorded: 11,
    keptKilobyteDays: 2100,
    messages: 4,
    novaEvents: 1,
    leased: 3,
    ruled: 1,
    calling: 1,
    changes: 3,
    announced: 6,
    events: 2,
    logLines: 7,
    metricLines: 2,
    traceable: 12,
    workMessages: 1,
  },
  vgpu: {
    ...noUnits,
    requests: 5,
    writes: 54,
    reads: 29,
    recorded: 16,
    keptKilobyteDays: 3000,
    messages: 6,
    novaEvents: 1,
    leased: 5,
    ruled: 2,
    calling: 1,
    changes: 4,
    announced: 7,
    events: 2,
    logLines: 10,
    metricLines: 2,
    traceable: 15,
    jobs: 1,
    workMessages: 1,
  },
  /** Its region is programmed with an image that is not staged yet, and reported. */
  fpga: {
    ...noUnits,
    requests: 5,
    writes: 68,
    reads: 52,
    recorded: 14,
    keptKilobyteDays: 2700,
    messages: 7,
    novaEvents: 1,
    leased: 5,
    ruled: 2,
    calling: 5,
    changes: 6,
    announced: 9,
    events: 2,
    logLines: 9,
    metricLines: 2,
    traceable: 14,
    jobs: 1,
    objectsPut: 1,
    objectsRead: 1,
  },
  /** Its region holds the image already; the host checks it. */
  fpgaPresent: {
    ...noUnits,
    requests: 5,
    writes: 46,
    reads: 22,
    recorded: 14,
    keptKilobyteDays: 2700,
    messages: 3,
    novaEvents: 1,
    leased: 2,
    ruled: 1,
    calling: 1,
    changes: 3,
    announced: 6,
    events: 2,
    logLines: 8,
    metricLines: 2,
    traceable: 11,
    workMessages: 1,
  },
  /** A report of an unchanged host. */
  heartbeat: {
    ...noUnits,
    writes: 1,
    reads: 1,
    messages: 1,
    ruled: 1,
  },
  /** A report that describes three unchanged devices. */
  fullReport: {
    ...noUnits,
    writes: 1,
    reads: 2,
    messages: 1,
    ruled: 1,
  },
  /** Comparison of a host's three devices with Placement. */
  comparisons: {
    ...noUnits,
    reads: 21,
    messages: 1,
    calling: 1,
  },
  /** A look at the tree of a host with three devices, and a read of the list of hosts. */
  look: {
    ...noUnits,
    reads: 2.5,
  },
  /**
   * An idle run of the schedule with three deployables; the reaper reads the handles of at most a
   * hundred per run.
   */
  sweep: {
    ...noUnits,
    reads: 40.5,
  },
  /** The measurement of a host with three devices, once an hour. */
  measuredHost: {
    ...noUnits,
    reads: 5,
  },
  /**
   * What each run of the schedule measures beside the hosts, with few series of metrics. Its lines
   * are those of a small cloud: of 10,000 hosts they come once an hour.
   */
  measured: {
    ...noUnits,
    writes: 9,
    reads: 26,
    recorded: 6,
    metricLines: 9,
  },
  /** A host boots and reprovisions the vGPU of one server. */
  boot: {
    ...noUnits,
    writes: 35,
    reads: 24,
    recorded: 13,
    keptKilobyteDays: 2300,
    messages: 4,
    novaEvents: 1,
    leased: 3,
    ruled: 2,
    calling: 1,
    changes: 3,
    announced: 3,
    events: 1,
    logLines: 3,
    metricLines: 2,
    traceable: 6,
    jobs: 1,
  },
} as const satisfies Record<string, Units>;

/** Mean size of the other lines, rounded up to 50 bytes. */
export const countedLogLine = { bytes: 350 } as const;

/** Size of the longest metric line, rounded up to 50 bytes. */
export const countedMetricLine = { bytes: 350 } as const;

/** MQTT messages of a host's agent. */
export const countedTraffic = {
  /**
   * One job, from its notification to its end, with one of its start: AWS's page says both that
   * there is one and that there is none.
   */
  job: { fromHost: 3, toHost: 6 },
} as const;
