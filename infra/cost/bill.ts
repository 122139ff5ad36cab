// Computes costs from the counted units. Values that cannot be counted without AWS are
// assumptions, listed in `taken`: durations of functions, cold starts, sizes of images.

import { type MetricRow, metrics } from '#core/contracts/metrics.ts';
import { queues } from '#core/contracts/queues/queues.ts';
import { heartbeatSeconds } from '#core/contracts/report/inventory-report.ts';
import { hoursOfComparison, looksAtOnce, sharesOf } from '#core/domain/placement/tree-looks.ts';
import { announcedWithinSeconds } from '#infra/stack/stream-filters.ts';
import {
  countedLogLine,
  countedMetricLine,
  countedTraffic,
  countedUnits,
  type Units,
  type Workload,
} from './counted-units.ts';
import { type Priced, prices } from './prices.ts';

export const taken = {
  /** Mean duration of a warm function behind the API, and of a consumer. */
  requestMs: 40,
  consumerMs: 100,
  /** With less of a CPU: Nova's functions, which use some 4 ms of one, have a third of it. */
  lessCpuMs: 6,
  novaEventMs: 120,
  /** Each reader of the streams, and each further record of its batch. */
  changesMs: 30,
  recordMs: 5,
  /** AWS: "typically under 1 %" of invocations; the start is paid for since 2025. */
  coldShare: 0.01,
  coldMs: 600,
  /** Shards of the stream of a table on demand that never had much traffic. */
  shards: 4,
  /** Calls to Keystone, Placement or Nova; one request in ten has a token that is not cached. */
  openStackMs: 200,
  /** From the PATCH until a host has made a bind, by a job; and checked it, by a message. */
  jobMs: 1500,
  checkMs: 500,
  /**
   * From the PATCH until nova-compute lists the ARQs. Ten lists of a real Nova came after 90 to
   * 800 ms; with this value the wait for a check is the mean of theirs.
   */
  novaListsMs: 240,
  imageMs: 10_000,
  imageMegabytes: 20,
  /** An answer to Nova, with its headers. */
  answerBytes: 1500,
  /** Availability zones of a private network. */
  zones: 2,
  /** A line of the access log, and what CloudWatch and a trace's id add to any other line. */
  accessLineBytes: 350,
  lineOverheadBytes: 80,
  /** Long polls of Lambda on an idle queue. */
  pollersPerQueue: 5,
  pollSeconds: 20,
  /** Rows of a host and its three devices, with their indexes. */
  kilobytesPerHost: 30,
  /** A host's summary in the index by which hosts are listed. */
  kilobytesPerSummary: 0.4,
} as const;

const daysPerMonth = 365.25 / 12;

/** Columns of the table of servers. */
export const serverKinds = ['pci', 'vgpuAhead', 'vgpu', 'fpgaPresent', 'fpga'] as const;
export const serverTitles = [
  '',
  'PCI',
  'vGPU, made ahead',
  'vGPU',
  'FPGA, image present',
  'FPGA, programmed',
];

/** Columns of the table of what is paid without servers. */
export const standingTitles = ['', 'hosts', 'stack', 'NAT gateways', 'or interface endpoints'];

/** GB, as in infra/stack/api.ts and infra/stack/consumers.ts. */
export const memory = { request: 0.5, consumer: 0.5, novaEvents: 0.25 };

/** Servers a month, in the table. */
const million = 1_000_000;
/** In their table; the trees of fewer hosts are looked at more often. */
const idleHosts = 10_000;
export const secondsPerMonth = daysPerMonth * 24 * 60 * 60;

/** From the PATCH until the bind has ended. */
const boundMs: Readonly<Record<(typeof serverKinds)[number], number>> = {
  pci: 0,
  vgpuAhead: 0,
  vgpu: taken.jobMs,
  fpga: taken.jobMs,
  fpgaPresent: taken.checkMs,
};

/** Number of units per price. */
export type Bill = Readonly<Partial<Record<Priced, number>>>;

/** The cost of one server from creation to deletion, of a million in a month, without X-Ray. */
export function billOf(workload: (typeof serverKinds)[number]): Bill {
  const units = countedUnits[workload];
  // nova-compute's list of the ARQs waits for a bind on the host.
  const waitMs = Math.max(boundMs[workload] - taken.novaListsMs, 0);
  const waited = (waitMs / 1000) * memory.request;
  return sum([ofUnits(units), ofImages(units), { gigabyteSecond: waited }]);
}

/** The monthly cost of an idle host. */
export function billOfIdleHost(): Bill {
  const minutes = secondsPerMonth / 60;
  const times = (count: number, workload: Workload) =>
    scaled(ofUnits(countedUnits[workload]), count);
  const fullReports = minutes / 60;
  const comparisons = fullReports / hoursOfComparison(3 * idleHosts);
  const looks = minutes / sharesOf(idleHosts);
  const lookSeconds = taken.openStackMs / 1000 / looksAtOnce;
  return sum([
    { connectedMinute: minutes },
    // Each sweep reads the summary of each host, eventually consistent.
    { readUnit: (minutes * taken.kilobytesPerSummary) / 4 / 2 },
    times(looks, 'look'),
    { gigabyteSecond: looks * lookSeconds * memory.consumer },
    times(secondsPerMonth / heartbeatSeconds - fullReports, 'heartbeat'),
    times(fullReports, 'fullReport'),
    times(comparisons, 'comparisons'),
    // Its other two devices.
    { gigabyteSecond: comparisons * 2 * (taken.openStackMs / 1000) * memory.consumer },
    // A round takes an hour with as many hosts.
    times(fullReports, 'measuredHost'),
    {
      storedGigabyte: taken.kilobytesPerHost / 1024 ** 2,
      backedUpGigabyte: taken.kilobytesPerHost / 1024 ** 2,
    },
  ]);
}

/** The permanent parts of the stack, which are paid per month. */
export interface FixedCosts {
  /** Metrics that alarms watch: a metric computed from two counts twice. */
  readonly watched: number;
  /** Metrics that are counted in the access log. */
  readonly filters: number;
  readonly dashboards: number;
}

/**
 * CloudWatch has one metric per value of a dimension, and charges only those written in an hour:
 * nine in an idle cloud.
 */
const ownMetricsMax = metrics.reduce((count, row: MetricRow) => {
  return count + (row.dimension?.values.length ?? 1);
}, 0);

/** The monthly cost of the stack without any workload. */
export function billOfFixedCosts({ watched, filters, dashboards }: FixedCosts): Bill {
  const minutes = secondsPerMonth / 60;
  return sum([
    { alarm: watched, dashboard: dashboards, metric: ownMetricsMax + filters, secret: 1 },
    // A queue without messages is polled all the same.
    { queueRequest: (queues.length * taken.pollersPerQueue * secondsPerMonth) / taken.pollSeconds },
    scaled(ofUnits(countedUnits.measured), minutes),
    scaled(
      { ...ofUnits(countedUnits.sweep), ...ofFunction(1, taken.openStackMs * 2, memory.consumer) },
      minutes,
    ),
  ]);
}

/** Interface endpoints that a private network needs; see ADR 15. */
const endpoints = ['sqs', 'secretsmanager', 'iot.api', 'iot.data', 'sts'];

/** The monthly cost of the two ways from a private network to AWS, without what passes them. */
export function billsOfNetwork(): readonly [gateways: Bill, endpoints: Bill] {
  const zoneHours = (secondsPerMonth / 3600) * taken.zones;
  return [{ gatewayHour: zoneHours }, { endpointHour: zoneHours * endpoints.length }];
}

function ofUnits(units: Units): Bill {
  const { requestMs, lessCpuMs, openStackMs } = taken;
  return sum([
    {
      apiRequest: units.requests,
      gigabyteOut: gigabytes(units.requests * taken.answerBytes),
    },
    ofFunction(units.requests, requestMs + lessCpuMs + openStackMs / 10, memory.request),
    ofFunction(units.messages - units.novaEvents, taken.consumerMs, memory.consumer),
    {
      gigabyteSecond:
        ((units.calling - units.novaEvents) * taken.openStackMs * memory.consumer) / 1000,
    },
    // Each calls Nova.
    ofFunction(units.novaEvents, taken.novaEventMs + taken.openStackMs, memory.novaEvents),
    ofFunction(units.changes, taken.changesMs, memory.consumer),
    ofFunction(batchesOf(units.announced), taken.changesMs, memory.consumer),
    { gigabyteSecond: (units.announced * taken.recordMs * memory.consumer) / 1000 },
    {
      writeUnit: units.writes - units.recorded,
      recordedWriteUnit: units.recorded,
      recordedGigabyte: gigabytes((units.keptKilobyteDays * 1024) / daysPerMonth),
      readUnit: units.reads,
      // At worst each is sent, received and deleted by itself.
      queueRequest: units.messages * 3 + units.leased,
      ruleTriggered: units.ruled,
      ruleAction: units.ruled,
      remoteAction: units.jobs,
      // The host acknowledges what it receives, and AWS meters the acknowledgement too.
      // It does not acknowledge a work message, and its answer goes straight to a rule.
      mqttMessage:
        units.jobs * (countedTraffic.job.fromHost + 2 * countedTraffic.job.toHost) +
        units.workMessages * 2,
      objectPut: units.objectsPut,
      objectRead: units.objectsRead,
      customEvent: units.events,
      loggedGigabyte: gigabytes(
        units.requests * taken.accessLineBytes +
          units.logLines * (countedLogLine.bytes + taken.lineOverheadBytes) +
          units.metricLines * (countedMetricLine.bytes + taken.lineOverheadBytes),
      ),
    },
  ]);
}

/**
 * What the setting `tracing` adds. X-Ray records the first request of each second per function,
 * and one in twenty of the others: nearly all of a million servers a month, nearly none of fifty
 * a second. This is the maximum.
 */
export function billOfTraces(workload: Workload): Bill {
  return { trace: countedUnits[workload].traceable };
}

/**
 * Batches in which `announcements` reads this many records of a server: a batch waits for other
 * records of its shard. Records are spread over the shards of two tables.
 */
function batchesOf(records: number): number {
  const perShard = (records * million) / secondsPerMonth / (2 * taken.shards);
  return records / (1 + perShard * announcedWithinSeconds);
}

function ofImages({ objectsPut }: Units): Bill {
  const size = (objectsPut * taken.imageMegabytes) / 1024;
  return {
    ...(objectsPut > 0 && {
      gigabyteOut: size,
      objectRead: objectsPut,
      // A week of a month.
      objectGigabyte: size / 4,
      gigabyteSecond: (objectsPut * taken.imageMs * memory.consumer) / 1000,
    }),
  };
}

function ofFunction(invocations: number, ms: number, gigabytesOfMemory: number): Bill {
  const meanMs = ms + taken.coldShare * taken.coldMs;
  return {
    invocation: invocations,
    gigabyteSecond: (invocations * meanMs * gigabytesOfMemory) / 1000,
  };
}

function gigabytes(bytes: number): number {
  return bytes / 1024 ** 3;
}

export function sum(bills: readonly Bill[]): Bill {
  const total: Partial<Record<Priced, number>> = {};
  for (const bill of bills) {
    for (const [priced, count] of Object.entries(bill) as [Priced, number][]) {
      total[priced] = (total[priced] ?? 0) + count;
    }
  }
  return total;
}

export function scaled(bill: Bill, by: number): Bill {
  return Object.fromEntries(
    Object.entries(bill).map(([priced, count]) => [priced, (count ?? 0) * by]),
  );
}

/** @returns dollars by service */
export function dollarsOf(bill: Bill): Readonly<Partial<Record<Priced, number>>> {
  return Object.fromEntries(
    (Object.entries(bill) as [Priced, number][])
      .filter(([, count]) => count > 0)
      .map(([priced, count]) => [priced, dollarsFor(priced, count)]),
  );
}

/** AWS halves the price of jobs beyond a quarter of a million a month. */
const fullPricedActions = 250_000;

function dollarsFor(priced: Priced, count: number): number {
  const { dollars, per } = prices[priced];
  if (priced !== 'remoteAction') return (count / per) * dollars;
  const beyond = Math.max(count - fullPricedActions, 0);
  return (count - beyond) * dollars + beyond * prices.remoteActionBeyond.dollars;
}
