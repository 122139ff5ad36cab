// Runs one operation from the table, undisturbed or with an interrupt at one of its steps.

import { quietRates } from '#simulation/faults.ts';
import { type Operation, operations } from '#simulation/operations/operations.ts';
import { makePlaces } from '#simulation/world/rules/limits/bounded-sets.ts';
import { createWorld, type WorldOptions } from '#simulation/world/world.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';
import { createProfiles } from './run.ts';

const minuteMs = 60_000;
const seed = 19;
/** Long enough for deadlines, quarantine, and the reaper. */
const usualQuiescenceMs = 25 * minuteMs;

interface OperationOutcome {
  /** The names of the steps of the operation without an interrupt. */
  readonly steps: readonly string[];
  readonly servers: readonly string[];
}

/** @throws Violation */
export async function runOperation(
  name: string,
  options: Pick<WorldOptions, 'interrupt' | 'strip' | 'trace'> &
    Pick<Operation, 'quiescenceMs'> = {},
): Promise<OperationOutcome> {
  const operation = operations[name];
  if (!operation) throw new Error(`Unknown operation: ${name}`);
  const world = createWorld(seed, {
    rates: operation.rates ?? quietRates,
    hostCount: operation.hostCount,
    extra: operation.extra,
    ...options,
  });
  try {
    const check = createSafetyCheck(world);
    createProfiles(world);
    makePlaces(world.database);
    await world.runFor(2 * minuteMs, check);
    void operation.prepare?.(world);
    await world.runFor(operation.prepareMs ?? minuteMs, check);
    world.arm();
    void operation.act(world);
    await world.runFor(minuteMs, check);
    const steps = world.stepsTaken();
    const operationMs = operation.quiescenceMs ?? usualQuiescenceMs;
    await world.runFor(Math.max(operationMs, options.quiescenceMs ?? 0), check);
    checkConvergence(world);
    return { steps, servers: world.nova.servers.map(({ status }) => status) };
  } finally {
    world.stop();
  }
}
