// Simulates launches of servers with one PCI device each against the quotas of API Gateway,
// Lambda, DynamoDB and EventBridge, in virtual time.

import { queues } from '#core/contracts/queues/queues.ts';
import { conflictAttemptsMax, conflictPauseMs } from '#core/store/table/documents.ts';
import { taken as assumed } from '#infra/cost/bill.ts';
import { burstOf } from '#infra/settings/throttling.ts';
import { createRandom } from '#simulation/random.ts';
import { taken } from '../limits.ts';
import { ConsumedQueue } from '../queue.ts';
import { Quota, Timeline } from '../timeline.ts';
import { boot, type CallName, calls, type Server, type StreamRecord } from './calls.ts';
import { DynamoDb, type Place, type Units } from './dynamodb.ts';
import { Executions, type Started } from './lambda.ts';
import { accountBurstShare, type Limit, type Raised, usual } from './limits.ts';
import { StreamReader } from './streams.ts';

export interface Launches {
  /** Servers per second once the load has grown, which takes a fifth of its time. */
  readonly perSecond: number;
  readonly seconds: number;
  /** It does not grow. */
  readonly isBurst?: boolean;
  readonly tenants: number;
  readonly raised?: Raised;
}

export interface LaunchOutcome {
  readonly asked: number;
  /** Servers of which a call got an error: a failed build, or an ARQ that the reaper deletes. */
  readonly failed: number;
  /** Seconds of the four calls of a build. */
  readonly waits: readonly number[];
  /** Refusals of calls by limit, in their order; those that a retry made good, too. */
  readonly refusals: ReadonlyMap<Limit, number>;
  /** Limits at which calls failed, in their order. */
  readonly failedAt: ReadonlySet<Limit>;
  readonly executions: number;
  readonly novaEvents: number;
  /** Seconds from a change until its consequences are sent, and until the history has it. */
  readonly changesLate: number;
  readonly historyLate: number;
  readonly lateEvents: number;
}

/** Each has one device with attach handles for all of its servers. */
const hosts = 10_000;
const lifeSeconds = 30;
const afterwardsSeconds = 3600;

/** Attempts at what DynamoDB throttles: the AWS SDK's own, and those at a transaction. */
const sdk = {
  attempts: 4,
  pauseMs: (attempt: number, share: number) => share * 1000 * 2 ** (attempt - 1),
};
const ours = { attempts: conflictAttemptsMax, pauseMs: conflictPauseMs };

export function launch(load: Launches): LaunchOutcome {
  const timeline = new Timeline();
  const random = createRandom(7).next;
  const allowed = { ...usual, ...load.raised };
  const account = new Quota(timeline, allowed.apiRequests, allowed.apiRequests * accountBurstShare);
  const routes = new Map(
    Object.keys(calls).map((name) => {
      const rate = allowed.novaRequestsPerSecond;
      return [name, new Quota(timeline, rate, burstOf(rate))];
    }),
  );
  const database = new DynamoDb(timeline, allowed.warmWrites);
  const putEvents = new Quota(timeline, allowed.putEvents);
  const novaEventsRow = { ...queues[0], concurrencyMax: allowed.novaEventsConcurrency };
  // The consumers of `nova-events` are busy all the time.
  const executions = new Executions(
    timeline,
    allowed.executions - novaEventsRow.concurrencyMax,
    allowed.provisionedConcurrency,
  );
  const refusals = new Map<Limit, number>();
  const failedAt = new Set<Limit>();
  const waits: number[] = [];
  const count = { asked: 0, failed: 0, lateEvents: 0 };

  const novaEvents = new ConsumedQueue<undefined>(timeline, novaEventsRow, {
    seconds: () => taken.novaEvents,
    end: () => undefined,
  });
  const changes = new StreamReader(timeline, 'changes', ({ isLooked }) => {
    if (isLooked) novaEvents.send(undefined);
    return true;
  });
  const announcements = new StreamReader(timeline, 'announcements', ({ history, events }) => {
    if (database.take('writes', history) !== undefined) return false;
    for (let each = 0; each < events; each++) if (!putEvents.take()) count.lateEvents += 1;
    return true;
  });

  function noteRefusal(limit: Limit, isLast: boolean): void {
    refusals.set(limit, (refusals.get(limit) ?? 0) + 1);
    if (isLast) failedAt.add(limit);
  }

  function commit(record: StreamRecord): void {
    const shard = database.shardOf(record.key);
    changes.commit(shard, record);
    announcements.commit(shard, record);
  }

  function admit(name: CallName): Started | Limit {
    if (!routes.get(name)?.take()) return 'a route';
    if (!account.take()) return 'API Gateway';
    return executions.start(calls[name].function);
  }

  function call(name: CallName, server: Server, end: (isDone: boolean) => void): void {
    const { function: called, reads, writes, records } = calls[name];
    const started = admit(name);
    if (started !== 'warm' && started !== 'cold') {
      // Nova does not repeat a call.
      noteRefusal(started, true);
      end(false);
      return;
    }
    const finish = (isDone: boolean) => {
      executions.end(called);
      if (isDone) records(server).forEach(commit);
      timeline.after(networkSeconds, () => end(isDone));
    };
    const write = (hasRead: boolean) =>
      hasRead ? repeat('writes', writes(server), finish) : finish(false);
    const wait = callSeconds + (started === 'cold' ? assumed.coldMs / 1000 : 0);
    timeline.after(wait, () => repeat('reads', reads(server), write));
  }

  /** What DynamoDB throttles is tried again, a transaction by our own pauses. */
  function repeat(
    action: 'reads' | 'writes',
    units: readonly Units[],
    end: (isDone: boolean) => void,
    attempt = 1,
  ): void {
    const full = database.take(action, units);
    const { attempts, pauseMs } = isTransaction(action, units) ? ours : sdk;
    const isLast = attempt === attempts;
    if (full) noteRefusal(action === 'reads' ? `reads of ${full}` : `writes to ${full}`, isLast);
    if (!full || isLast) {
      end(!full);
      return;
    }
    const pause = pauseMs(attempt, random()) / 1000;
    timeline.after(pause, () => repeat(action, units, end, attempt + 1));
  }

  function startServer(): void {
    count.asked += 1;
    const startedAt = timeline.now;
    const server = aServer(random, load.tenants);
    const next = (step: number) => {
      const name = boot[step];
      if (name === undefined) {
        waits.push(timeline.now - startedAt);
        timeline.after(lifeSeconds, () => call('delete', server, noteEnd));
        return;
      }
      call(name, server, (isDone) => {
        if (isDone) return next(step + 1);
        noteEnd(false);
        // Nova deletes what it has made.
        if (step > 1) call('delete', server, () => undefined);
      });
    };
    next(0);
  }

  function noteEnd(isDone: boolean): void {
    if (!isDone) count.failed += 1;
  }

  const arriving = arrivals(load);
  const arrive = () => {
    const { value: at } = arriving.next();
    if (at === undefined) return;
    timeline.after(at - timeline.now, () => {
      startServer();
      arrive();
    });
  };
  arrive();
  timeline.run(load.seconds + afterwardsSeconds);
  return {
    ...count,
    waits,
    refusals,
    failedAt,
    executions: executions.most + novaEventsRow.concurrencyMax,
    novaEvents: novaEvents.deepest,
    changesLate: changes.late,
    historyLate: announcements.late,
  };
}

const callSeconds = (assumed.requestMs + assumed.openStackMs / 10) / 1000;
/** Between Nova and the function, both ways. */
const networkSeconds = taken.apiCall - callSeconds;

function isTransaction(action: 'reads' | 'writes', units: readonly Units[]): boolean {
  const tables = units.filter(({ place }: { place: Place }) => !place.includes('/'));
  return action === 'writes' && tables.length > 1;
}

function aServer(random: () => number, tenants: number): Server {
  const number = (below: number) => Math.floor(random() * below);
  const key = () => number(2 ** 31);
  const host = number(hosts);
  return {
    arq: key(),
    instance: key(),
    host,
    provider: hosts + host,
    project: number(tenants),
    profile: 0,
    shard: number(16),
    days: [number(16), number(16)],
  };
}

/** The load grows during a fifth of its time, as a cloud's does: Lambda starts more by then. */
function* arrivals({ perSecond, seconds, isBurst }: Launches): Generator<number, undefined> {
  if (isBurst) {
    for (let each = 0; each < perSecond * seconds; each++) yield each / perSecond;
    return undefined;
  }
  const growing = seconds / 5;
  const grown = (perSecond * growing) / 2;
  const all = grown + perSecond * (seconds - growing);
  for (let each = 0; each < all; each++) {
    yield each < grown
      ? Math.sqrt((2 * each * growing) / perSecond)
      : growing + (each - grown) / perSecond;
  }
  return undefined;
}
