// From what was counted to what it costs. What cannot be counted without AWS is taken, and named so in
// `taken`: the durations of functions, sizes of log lines and of images.

import { type MetricRow, metrics } from '#core/contracts/metrics.ts';
import {
  countedMetricLine,
  countedTraffic,
  countedUnits,
  type Units,
  type Workload,
} from './counted-units.ts';
import { type Priced, prices } from './prices.ts';

export const taken = {
  /** Mean duration of a function behind the API, and of a consumer, once warm. */
  requestMs: 40,
  consumerMs: 100,
  /** Of either reader of the streams. */
  changesMs: 30,
  /** What it calls of Keystone, Placement or Nova; one request in ten has a token that is not known. */
  openStackMs: 200,
  /** A consumer that brings a new image from Glance to S3, and the image. */
  /** What nova-compute's list of the ARQs waits for a bind that the host makes. */
  resolveWaitMs: 1500,
  imageMs: 10_000,
  imageMegabytes: 20,
  /** A line of a log, with its envelope; lines of an access log, a request, a consumer's delivery. */
  logBytes: 600,
  linesPerInvocation: 3,
  /** Rows of a host and its three devices, with their indexes. */
  kilobytesPerHost: 30,
} as const;

/** GB, as infra/api.ts and infra/consumers.ts have them. */
export const memory = { request: 1, consumer: 0.5 };

/** How often each price is due. */
export type Bill = Readonly<Partial<Record<Priced, number>>>;

/** What one server costs in its life. */
export function billOf(workload: 'pci' | 'vgpu' | 'fpga'): Bill {
  const units = countedUnits[workload];
  const waited = units.jobs > 0 ? (taken.resolveWaitMs / 1000) * memory.request : 0;
  return sum([ofUnits(units), ofImages(units), { gigabyteSecond: waited }]);
}

/** What a host costs in a month in which nothing happens on it. */
export function billOfIdleHost(): Bill {
  const minutes = (365.25 / 12) * 24 * 60;
  const times = (count: number, workload: Workload) =>
    scaled(ofUnits(countedUnits[workload]), count);
  const fullReports = minutes / 60;
  return sum([
    { connectedMinute: minutes },
    times(minutes / 5 - fullReports, 'heartbeat'),
    times(fullReports, 'fullReport'),
    times(fullReports, 'comparisons'),
    {
      storedGigabyte: taken.kilobytesPerHost / 1024 ** 2,
      backedUpGigabyte: taken.kilobytesPerHost / 1024 ** 2,
    },
  ]);
}

/** What the stack has for good, and pays for by the month. */
export interface FixedCosts {
  /** Metrics that alarms watch: one that computes with two is charged for two. */
  readonly watched: number;
  /** Metrics that are counted in the access log. */
  readonly filters: number;
  readonly dashboards: number;
}

/**
 * CloudWatch has one for each value of a dimension, and asks for those alone that were written in an hour:
 * an idle cloud's are eight.
 */
export const ownMetricsMax = metrics.reduce((count, row: MetricRow) => {
  return count + (row.dimension?.values.length ?? 1);
}, 0);

/** What it costs in a month, whatever happens. */
export function billOfFixedCosts({ watched, filters, dashboards }: FixedCosts): Bill {
  const minutes = (365.25 / 12) * 24 * 60;
  return sum([
    { alarm: watched, dashboard: dashboards, metric: ownMetricsMax + filters, secret: 1 },
    scaled(
      { ...ofUnits(countedUnits.sweep), ...ofFunction(1, taken.openStackMs * 2, memory.consumer) },
      minutes,
    ),
  ]);
}

function ofUnits(units: Units): Bill {
  const consumed = units.messages;
  return sum([
    { apiRequest: units.requests },
    ofFunction(units.requests, taken.requestMs + taken.openStackMs / 10, memory.request),
    // What rules bring is for consumers that never call OpenStack.
    ofFunction(units.ruled, taken.consumerMs, memory.consumer),
    ofFunction(consumed - units.ruled, taken.consumerMs + taken.openStackMs, memory.consumer),
    ofFunction(units.changes + units.announced, taken.changesMs, memory.consumer),
    {
      writeUnit: units.writes,
      readUnit: units.reads,
      // Each is sent, received and deleted by itself, at worst; those that Nova waits for are leased.
      queueRequest: consumed * (units.requests > 0 ? 4 : 3),
      ruleTriggered: units.ruled,
      ruleAction: units.ruled,
      remoteAction: units.jobs,
      // What the host is sent it acknowledges, and AWS meters that, too.
      mqttMessage: units.jobs * (countedTraffic.job.fromHost + 2 * countedTraffic.job.toHost),
      objectPut: units.objectsPut,
      objectRead: units.objectsRead,
      customEvent: units.events,
      // X-Ray records the first of each second by each function, and one in twenty of the others: of a
      // million servers a month nearly all, of fifty a second nearly none. This is the most.
      trace: units.traceable,
      loggedGigabyte: gigabytes(
        units.requests * taken.logBytes + units.metricLines * countedMetricLine.bytes,
      ),
    },
  ]);
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
  return {
    invocation: invocations,
    gigabyteSecond: (invocations * ms * gigabytesOfMemory) / 1000,
    loggedGigabyte: gigabytes(invocations * taken.linesPerInvocation * taken.logBytes),
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

/** @returns dollars, by what they are for */
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
