// What AWS allows by default, and how long things take. docs/scale.md says where each is from.

/** A second; of an account and region. */
export const quotas = {
  apiRequests: 10_000,
  apiBurst: 5_000,
  createJob: 10,
  cancelJob: 10,
  connects: 3_000,
  subscriptions: 500,
} as const;

export type Quotas = Readonly<Record<keyof typeof quotas, number>>;

/** Seconds. None of them can be measured without AWS, a cloud and its hosts. */
export const taken = {
  apiCall: 0.1,
  /** From a commit to `changes` and its message in a queue. */
  stream: 0.3,
  /** A consumer's delivery. */
  hostJobs: 0.5,
  jobEvents: 0.15,
  novaEvents: 0.3,
  presence: 0.5,
  report: 0.5,
  reportPerInstance: 0.03,
  /** A host's work on a job, from its notice to the last update: evenly between these. */
  hostLeast: 1,
  hostMost: 3,
} as const;

/** Topic filters of an agent; edge-agent/jobs-protocol.ts. */
export const filtersPerHost = 7;
