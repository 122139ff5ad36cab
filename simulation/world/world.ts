// A simulated cloud from one seed: the real code of the control plane over fake services, hosts
// with the real code of the agent, a fake Nova, and faults in all of them.

import { createNova as createNovaClient } from '#core/clients/openstack/nova.ts';
import { createPlacement } from '#core/clients/openstack/placement.ts';
import { type ConsumerDeps, createConsumerStore } from '#core/consumer-deps.ts';
import type { HistoryKind } from '#core/domain/history/history.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { sweepHolds } from '#core/operations/devices/hold-devices.ts';
import { reconcile } from '#core/operations/placement/reconcile.ts';
import { allHosts, lookAtTrees } from '#core/operations/placement/restore-tree.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { loadSettings, type Settings } from '#core/settings.ts';
import type { DocumentClients } from '#core/store/table/documents.ts';
import { changesConsumer } from '#functions/consumers/changes.ts';
import { documentsFor, type Mirror } from '#simulation/database/documents.ts';
import { createMemoryDatabase, type MemoryDatabase } from '#simulation/database/memory-database.ts';
import { createFaults, type Faults, type Rates } from '#simulation/faults.ts';
import { noGuardStripped, type Strip } from '#simulation/guards.ts';
import { createRandom, type Random } from '#simulation/random.ts';
import { createTimeline, type Process, type Timeline } from '#simulation/timeline.ts';
import { type Violate, Violation } from '#simulation/violation.ts';
import { type CallApi, createApi } from './api.ts';
import { createIot, type SimulatedIot } from './aws/iot.ts';
import { createQueues, makeConsumers, type SimulatedQueues } from './aws/queues.ts';
import { createStreams, type SimulatedStreams } from './aws/streams.ts';
import type { Extra } from './hardware.ts';
import { createHost, type Host } from './host.ts';
import { createInterrupts, type Interrupt, isOutside } from './interrupts.ts';
import { createNova, type Profile, type SimulatedNova } from './openstack/nova.ts';
import { createOpenStack, type SimulatedOpenStack } from './openstack/openstack.ts';
import { isBootKnown } from './openstack/promised-devices.ts';
import { images, profiles } from './profiles.ts';
import { checkChange, differences } from './rules/changes.ts';
import { createHistoryCheck } from './rules/history-check.ts';
import { watchLeases } from './rules/leases.ts';
import { unboundMax } from './rules/limits/bounded-sets.ts';
import { createHoldCheck, hasHolds } from './rules/limits/holds.ts';
import { checkAsked } from './rules/revoked-hosts.ts';
import { createTransitions, type Transitions } from './rules/transitions.ts';
import { stage, startMs } from './stage.ts';
import { createExpectedHistory, createHistoryStreams } from './wide.ts';

const sweepMs = 60_000;
const sweepTimeoutMs = 60_000;

export interface World {
  readonly random: Random;
  readonly timeline: Timeline;
  readonly settings: Settings;
  readonly faults: Faults;
  readonly database: MemoryDatabase;
  readonly queues: SimulatedQueues;
  readonly streams: SimulatedStreams;
  readonly iot: SimulatedIot;
  readonly openstack: SimulatedOpenStack;
  readonly hosts: readonly Host[];
  readonly nova: SimulatedNova;
  readonly api: CallApi;
  readonly profiles: readonly Profile[];
  /** Records that the history must have in the end; undefined where none is written. */
  readonly expectedHistory: ReadonlyMap<HistoryKind, number> | undefined;
  /** Devices that an operator has disabled with success. */
  readonly disabled: Set<string>;
  /** Holds that an operator has set with success, until one asks to end them. */
  readonly holds: Map<string, 'set' | 'ended'>;
  /** ARQs that no server uses. */
  readonly spareArqs: string[];
  readonly transitions: Transitions;
  readonly violations: Violation[];
  readonly violate: Violate;
  /** Whether the product lacks this guard. */
  isStripped(guard: string): boolean;
  spawn(name: string): Process;
  depsFor(process: Process): ConsumerDeps;
  /** Starts to count steps; the interrupt refers to their numbers. */
  arm(): void;
  /** The names of the steps so far. */
  stepsTaken(): readonly string[];
  /** Delays the next step whose process and name begin so. */
  stall(process: string, step: string, milliseconds: number): void;
  /** Runs this time in virtual time. @throws Violation */
  runFor(milliseconds: number, check: () => void): Promise<void>;
  stop(): void;
}

export interface WorldOptions {
  /** A mutant: the product without one guard. */
  readonly strip?: Strip | undefined;
  /** Faults that occur by chance; if given, no others do. */
  readonly rates?: Rates;
  /** How many hosts there are, each with a slot for a card that moves; else one or two without. */
  readonly hostCount?: number | undefined;
  /** Whether each host has a device with a component. */
  readonly extra?: Extra | undefined;
  /** The interrupt at one step of the control plane or of an agent, counted from `arm()`. */
  readonly interrupt?: Interrupt | undefined;
  /** A second database whose answers must be the same; then indexes do not lag. */
  readonly mirror?: Mirror | undefined;
  /** With what wide.ts adds. */
  readonly isWide?: boolean;
  /** Called for every effect as it happens. */
  readonly trace?: ((line: string) => void) | undefined;
}

export function createWorld(seed: number, options: WorldOptions = {}): World {
  const { strip = noGuardStripped, trace, mirror, rates, interrupt, hostCount } = options;
  const { isWide = false, extra } = options;
  const random = createRandom(seed);
  const intensity = random.pick([0, 0.5, 1, 1, 2, 4]);
  const faults = rates ? createFaults(random, 1, rates) : createFaults(random, intensity);
  // Slow effects overlap more.
  const slowness = rates ? 1 : random.pick([1, 1, 1, 20]);
  const violations: Violation[] = [];
  const violate: Violate = (rule, detail) => void violations.push(new Violation(rule, detail));
  let check = () => {};
  const timeline: Timeline = createTimeline({
    random,
    startMs,
    latency: () =>
      slowness * (random.chance(0.02) ? random.between(100, 3000) : random.between(1, 15)),
    before: (process, name) => {
      trace?.(`${clockTime(timeline.now())} ${process.name}: ${name}`);
      mayDie(process, name);
      return interrupts.before(process, name) ?? slowMs(process);
    },
    after: (process, name) => {
      mayDie(process, name);
      interrupts.after(process);
    },
    check: () => {
      // Report a recorded violation first: the check cannot read broken rows.
      const [first] = violations;
      if (first) throw first;
      check();
    },
  });
  const interrupts = createInterrupts({
    interrupt,
    kill: timeline.kill,
    meanwhile: () => void interrupt?.meanwhile?.(world),
    say: (line) => trace?.(`${clockTime(timeline.now())} ${line}`),
  });
  const settings = loadSettings({
    CYBORG_STAGE: stage,
    CYBORG_ATTACH_TYPES: 'PCI,MDEV',
    // Nova ignores events in the specification's style, and its wait times out.
    CYBORG_EVENT_STYLE: !rates && random.chance(0.05) ? 'spec' : 'nova',
    CYBORG_REQUIRE_SIGNATURE: '',
    CYBORG_UNBOUND_ARQS_MAX: String(unboundMax),
    KEYSTONE_URL: 'http://keystone/v3',
    CYBORG_OS_PASSWORD: 'secret',
  });
  const transitions = createTransitions(violate);
  const checkHistory = createHistoryCheck(violate);
  const checkHold = createHoldCheck(violate);
  const expectedHistory = createExpectedHistory();
  const database = createMemoryDatabase({
    stage,
    now: timeline.now,
    indexLagMs: () => {
      if (mirror) return 0;
      return faults.happens('index lags') ? random.between(100, 20_000) : 5;
    },
    onChange: (change) => {
      trace?.(`${' '.repeat(13)}${differences(change)}`);
      // Its partitions are named as other tables' rows are.
      if (change.table === 'history') return;
      transitions.see(change);
      checkChange(change, database, timeline.now(), violate);
      checkHistory(change);
      checkHold(change, database, timeline.now());
      streams.add(change);
      if (!historyStreams) return;
      historyStreams.add(change);
      expectedHistory.see(change);
    },
  });
  const openstack = createOpenStack(timeline, faults, images);
  const spawn = (name: string): Process => ({ name, isDead: false });
  const parts = { timeline, random, faults, spawn };
  const queues = createQueues({
    ...parts,
    isLossy: strip.isStripped('message is redelivered'),
    consumer: (queue, process) =>
      makeConsumers[queue]({
        deps: () => depsFor(process),
        sqs: () => ({ send: (command: object) => hide(process, command) }) as never,
      }),
  });
  const streams = createStreams({
    ...parts,
    name: 'changes',
    isLossy: strip.isStripped('stream batch is redelivered'),
    consumer: (process) => changesConsumer(() => depsFor(process)),
    ...(isWide && { batchSize: () => random.between(1, 25) }),
  });
  const historyStreams =
    isWide && createHistoryStreams({ ...parts, strip }, (process) => documentsOf(process));
  const iot = createIot({
    ...parts,
    stage,
    thingArnPrefix: settings.thingArnPrefix,
    put: queues.put,
    asked: (target) => checkAsked(target, database, timeline.now(), violate),
  });

  function mayDie(process: Process, name: string): void {
    if (isOutside(process.name)) return;
    const kind = process.name.startsWith('agent') ? 'agent killed' : 'crash';
    if (!faults.happens(kind)) return;
    trace?.(`${clockTime(timeline.now())} ${process.name} dies at ${name}`);
    timeline.kill(process);
  }

  function slowMs({ name }: Process): number | undefined {
    if (!name.startsWith('api') || !faults.happens('function slow')) return undefined;
    return random.between(5000, 40_000);
  }

  async function hide(process: Process, command: object): Promise<object> {
    const { input } = command as { input: { ReceiptHandle: string; VisibilityTimeout: number } };
    return timeline.effect(process, 'SQS ChangeMessageVisibility', () => {
      queues.hide(input.ReceiptHandle, input.VisibilityTimeout);
      return {};
    });
  }

  const watched = watchLeases(violate);

  function documentsOf(process: Process): DocumentClients {
    return documentsFor({
      ...parts,
      process,
      database,
      strip,
      mirror,
      violate,
      trouble: () => interrupts.trouble(process),
    });
  }

  function depsFor(process: Process): ConsumerDeps {
    const documents = documentsOf(process);
    const http = openstack.httpFor(process);
    const keystone = openstack.keystoneFor(process);
    const deps = strip.deps(
      {
        settings,
        ...createConsumerStore(documents, stage),
        clients: {
          keystone,
          nova: createNovaClient({ identity: keystone, http }),
          placement: createPlacement({ identity: keystone, http }),
          jobs: iot.jobsFor(process),
          hostMessages: iot.messagesFor(process),
          glance: openstack.glanceFor(process),
          staging: openstack.stagingFor(process),
        },
        queues: {
          send: (queue, messages, delaySeconds = 0) =>
            messages.length === 0
              ? Promise.resolve()
              : timeline.effect(process, 'SQS SendMessageBatch', () => {
                  for (const message of messages)
                    queues.put(queue, JSON.stringify(message), delaySeconds);
                }),
        },
        metrics: noMetrics,
        deadLetter: ({ cause }) => Promise.reject(new Error(cause)),
        log: silentLog,
        clock: timeline.now,
        sleep: (milliseconds) => timeline.sleep(process, milliseconds),
        uuid: random.uuid,
        randomBytes: random.bytes,
        random: random.next,
      },
      process.name,
    );
    return watched(deps);
  }

  const api = createApi({
    ...parts,
    depsFor,
    outagesMetBy: openstack.outagesMetBy,
    violate: rates && violate,
  });
  // Operations always run on the same hosts.
  const handles = rates
    ? { nic: 2, gpu: 2, fpga: 2 }
    : { nic: random.between(1, 3), gpu: random.between(1, 3), fpga: random.between(1, 2) };
  const count = hostCount ?? (rates ? 1 : random.between(1, 2));
  const hosts = Array.from({ length: count }, (_, index) => {
    const name = `cmp${index + 1}`;
    const root = random.uuid();
    openstack.placement.providers[root] = {
      uuid: root,
      name,
      generation: 0,
      parent: null,
      inventories: {},
      traits: [],
    };
    return createHost({
      ...parts,
      name,
      stage,
      iot,
      images,
      handles,
      violate,
      strip,
      hasSlot: hostCount !== undefined,
      extra,
    });
  });
  const knowsBoot = (host: Host) => isBootKnown(database.rows('inventory'), host);
  const boundAt = (instance: string) => {
    const row = database.rows('arqs').find(({ pk }) => pk === `INSTANCE#${instance}`);
    return row?.state === 'Bound' ? Date.parse(`${row.resolved_at ?? row.started_at}`) : undefined;
  };
  const nova = createNova({
    timeline,
    random,
    openstack,
    hosts,
    api,
    violate,
    knowsBoot,
    boundAt,
    spawn,
    competition: rates ? 0 : 0.15,
    seesFailedBinds: strip.isStripped('failed bind is an error'),
  });

  function runSweep(): void {
    const process = spawn('sweep');
    timeline.at(timeline.now() + sweepTimeoutMs, () => timeline.kill(process));
    // The schedule ignores an error of the sweep: the next sweep runs in a minute.
    const deps = depsFor(process);
    void sweep(deps)
      // Where none was ever set it only reads, and each read takes random numbers of the seed.
      .finally(() => hasHolds(database) && sweepHolds(deps))
      .finally(() => reap(deps))
      .finally(async () => reconcile(deps, await allHosts(deps)))
      .finally(() => lookAtTrees(deps))
      .catch(() => {});
    timeline.at(timeline.now() + sweepMs, runSweep);
  }
  timeline.at(startMs + random.between(0, sweepMs), runSweep);

  const world: World = {
    random,
    timeline,
    settings,
    faults,
    database,
    queues,
    streams,
    iot,
    openstack,
    hosts,
    nova,
    api,
    expectedHistory: historyStreams ? expectedHistory.counts : undefined,
    profiles,
    disabled: new Set(),
    holds: new Map(),
    spareArqs: [],
    transitions,
    violations,
    violate,
    isStripped: strip.isStripped,
    spawn,
    depsFor,
    arm: interrupts.arm,
    stepsTaken: interrupts.steps,
    stall: interrupts.stall,
    runFor: async (milliseconds, nextCheck) => {
      check = nextCheck;
      await timeline.runUntil(timeline.now() + milliseconds);
    },
    stop: () => iot.close(),
  };
  return world;
}

/** The time since the start, as `01:02:03.004`. */
function clockTime(nowMs: number): string {
  return new Date(nowMs - startMs).toISOString().slice(11, 23);
}
