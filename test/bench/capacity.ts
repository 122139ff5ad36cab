// What one server costs: DynamoDB's request units as the engine counts them, messages and jobs,
// for each request of Nova and for the consumers.

import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpEngine } from '#local/ports.ts';
import { environmentFor } from '#local/process/environment.ts';
import { type Layout, urlOf } from '#local/process/layout.ts';
import { printTable } from './print/print-table.ts';
import { createApi } from './system/api.ts';
import { type Exchange, startCountingProxy } from './system/counting-proxy.ts';
import { type CallName, callNames, novaCycle } from './system/nova-cycle.ts';
import { type OwnSystem, stage, startOwnSystem } from './system/own-system.ts';
import { type StreamProgress, watchStreams } from './system/stream-progress.ts';

/** With the history, which takes ten of the writes. */
const capacityTargets = { writes: 32, reads: 12, messages: 0, jobs: 0 } as const;

type Phase = CallName | 'consumers' | 'not counted';
type Unit = keyof typeof capacityTargets;
type Cost = Record<Unit, number>;

/** Keys are the requests, or the consumers, that caused the cost. */
export type Costs = Map<Phase, Cost>;

/** Attach handles of the bound provider. */
const handleCounts = [1, 16, 64, 4096] as const;
/** The number whose table is printed: that of Cyborg's fake driver. */
const handlesUsual = 16;
/** The bench fails if nothing ends or is counted in this time. */
const stillSecondsMax = 120;

/** ARQs of other projects, which may cost a server nothing. */
const otherArqs = 100_000;

/** Prints the counts. Returns false if a target is missed. */
export async function benchCapacity(): Promise<boolean> {
  const meter = new Meter();
  const own = await startOwnSystem({
    handles: handleCounts,
    arqCount: otherArqs,
    variables: (layout) => meter.start(layout),
  });
  try {
    const streams = watchStreams(own.layout);
    meter.follow(streams);
    await meter.settled();
    let isWithin = true;
    for (const [index, handles] of handleCounts.entries()) {
      const costs = await costsOf(own, index, meter);
      if (handles === handlesUsual) printCosts(handles, costs);
      else printTotals(handles, costs);
      // Counts of 0 would be within any target.
      refuseUncounted(costs);
      isWithin = isWithinTargets(costs) && isWithin;
    }
    console.log(isWithin ? 'All targets are met.' : 'MISSED: a target is exceeded.');
    return isWithin;
  } finally {
    await own.stop();
    await meter.stop();
  }
}

/**
 * Starts the consumers only while Nova waits, so that their requests are not counted for a request
 * of Nova.
 */
async function costsOf(own: OwnSystem, index: number, meter: Meter): Promise<Costs> {
  const place = own.places[index];
  if (!place) throw new RangeError(`No place with index ${index}.`);
  const api = createApi(own.target);
  await own.system.kill('consumers');
  meter.reset();
  for (const step of novaCycle(api, place).steps) {
    meter.phase = step.call;
    await step.run();
    if (step.call !== 'PATCH' && step.call !== 'DELETE ?instance=') continue;
    meter.phase = 'consumers';
    await own.system.start('consumers');
    await meter.settled();
    if (step.call === 'PATCH') await own.system.kill('consumers');
  }
  meter.phase = 'not counted';
  api.close();
  return meter.costs;
}

const readActions = ['GetItem', 'BatchGetItem', 'Query', 'Scan', 'TransactGetItems'];

class Meter {
  phase: Phase = 'not counted';
  costs: Costs = new Map();
  #lastAt = 0;
  #messagesUnderWay = 0;
  #streams: StreamProgress | undefined;
  #proxies: HttpEngine[] = [];

  /**
   * Returns the variables by which the system's processes find the proxies instead of the engines.
   */
  async start(layout: Layout): Promise<Record<string, string>> {
    const [dynamoDb, sqs, jobs] = await Promise.all([
      startCountingProxy({
        target: urlOf(layout, 'dynamodb'),
        alter: (asked) => ({ ...asked, ReturnConsumedCapacity: 'INDEXES' }),
        onExchange: (exchange) => this.#countUnits(exchange),
      }),
      startCountingProxy({
        target: urlOf(layout, 'sqs'),
        onExchange: (exchange) => this.#countMessages(exchange),
      }),
      startCountingProxy({ onExchange: () => this.#add('jobs', 1) }),
    ]);
    this.#proxies = [dynamoDb, sqs, jobs];
    const keystone = `${urlOf(layout, 'keystone')}/v3`;
    return {
      ...environmentFor(stage, { dynamoDb: dynamoDb.url, sqs: sqs.url, keystone }),
      // A Lambda function reads a stream for free.
      AWS_ENDPOINT_URL_DYNAMODB_STREAMS: urlOf(layout, 'dynamodb'),
      AWS_ENDPOINT_URL_IOT: jobs.url,
      AWS_ENDPOINT_URL_IOT_DATA_PLANE: jobs.url,
    };
  }

  reset(): void {
    this.costs = new Map();
  }

  follow(streams: StreamProgress): void {
    this.#streams = streams;
  }

  /** Resolves when the streams are read to their ends and every message is consumed. */
  async settled(): Promise<void> {
    this.#lastAt = Date.now();
    while (!this.#isSettled()) {
      if (Date.now() - this.#lastAt > stillSecondsMax * 1000) {
        throw new Error(
          `The consumers do not finish: ${this.#messagesUnderWay} messages are in progress, ` +
            `and nothing was counted for ${stillSecondsMax} s.`,
        );
      }
      await sleep(20);
    }
  }

  /** Checks messages first: their consumer may write, which adds records to the streams. */
  #isSettled(): boolean {
    return this.#messagesUnderWay === 0 && (this.#streams?.areRead() ?? true);
  }

  async stop(): Promise<void> {
    this.#streams?.close();
    for (const proxy of this.#proxies) await proxy.stop();
  }

  #countUnits({ action, asked, answered }: Exchange): void {
    const consumed = [answered.ConsumedCapacity ?? []].flat() as { CapacityUnits: number }[];
    const units = consumed.reduce((sum, each) => sum + each.CapacityUnits, 0);
    // The sweep reads deadlines once a minute, for any number of servers.
    if (asked.IndexName === 'by-due') return;
    this.#add(readActions.includes(action) ? 'reads' : 'writes', units);
  }

  #countMessages({ action, asked, answered }: Exchange): void {
    const entries = (asked.Entries as unknown[] | undefined)?.length ?? 1;
    const failed = (answered.Failed as unknown[] | undefined)?.length ?? 0;
    if (action.startsWith('SendMessage')) {
      this.#messagesUnderWay += entries - failed;
      this.#add('messages', entries - failed);
    } else if (action.startsWith('DeleteMessage')) {
      this.#messagesUnderWay -= entries - failed;
      this.#lastAt = Date.now();
    }
  }

  #add(unit: Unit, count: number): void {
    this.#lastAt = Date.now();
    const cost = this.costs.get(this.phase) ?? { writes: 0, reads: 0, messages: 0, jobs: 0 };
    cost[unit] += count;
    this.costs.set(this.phase, cost);
  }
}

const units = Object.keys(capacityTargets) as Unit[];
const phases = [...callNames, 'consumers'] as const;

function costOf(costs: Costs, phase: Phase, unit: Unit): number {
  return costs.get(phase)?.[unit] ?? 0;
}

function totalOf(costs: Costs, unit: Unit): number {
  return phases.reduce((sum, phase) => sum + costOf(costs, phase, unit), 0);
}

function isWithinTargets(costs: Costs): boolean {
  return units.every((unit) => totalOf(costs, unit) <= capacityTargets[unit]);
}

/** @throws Error naming the part of the cycle for which nothing was counted */
export function refuseUncounted(costs: Costs): void {
  for (const phase of phases) {
    const sum = units.reduce((total, unit) => total + costOf(costs, phase, unit), 0);
    if (sum === 0) throw new Error(`Nothing was counted for ${phase}: the figures are invalid.`);
  }
  // A server with a PCI device takes no message; each change of it is in the history.
  if (costOf(costs, 'consumers', 'writes') === 0) {
    throw new Error('No write of the consumers was counted: the figures are invalid.');
  }
}

function printCosts(handles: number, costs: Costs): void {
  printTable(
    `One server with one accelerator, of a provider with ${handles} attach handles`,
    ['', 'WRU', 'RRU', 'SQS messages', 'IoT jobs'],
    [
      ...phases.map((phase) => [phase, ...units.map((unit) => `${costOf(costs, phase, unit)}`)]),
      ['in all', ...units.map((unit) => `${totalOf(costs, unit)}`)],
      ['target', ...units.map((unit) => `${capacityTargets[unit]}`)],
    ],
  );
}

function printTotals(handles: number, costs: Costs): void {
  const [writes, reads, messages, jobs] = units.map((unit) => totalOf(costs, unit));
  const cost = `${writes} WRU, ${reads} RRU, SQS messages: ${messages}, IoT jobs: ${jobs}`;
  console.log(
    `\nFor a provider with ${handles} attach handle${handles === 1 ? '' : 's'}: ${cost}.`,
  );
}
