// AWS's default limits, and assumed durations. docs/scale.md names the sources, and which limits
// could not be verified: those of jobs, connects and subscriptions.

/** Per second, account and region. */
export const quotas = {
  createJob: 10,
  cancelJob: 10,
  connects: 3_000,
  subscriptions: 500,
} as const;

export type Quotas = Readonly<Record<keyof typeof quotas, number>>;

/** Seconds. These durations cannot be measured without AWS, a cloud and its hosts. */
export const taken = {
  apiCall: 0.1,
  /** From a commit to `changes` and its message in a queue. */
  stream: 0.3,
  /** A consumer's delivery. */
  hostJobs: 0.5,
  jobEvents: 0.15,
  novaEvents: 0.3,
  /** Until a list that waits reads again. */
  listStep: 0.25,
  presence: 0.5,
  report: 0.5,
  reportPerInstance: 0.03,
  /** A host's work on a job, from its notification to the last update: uniform between these. */
  hostLeast: 1,
  hostMost: 3,
} as const;

/** Topic filters of an agent: edge-agent/broker/jobs-protocol.ts, and one for work messages. */
export const filtersPerHost = 8;
