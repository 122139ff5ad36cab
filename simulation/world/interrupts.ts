// An interrupt: something happens to the process that takes one numbered step of an operation.

import type { WriteTrouble } from '#simulation/database/documents.ts';
import type { Process } from '#simulation/timeline.ts';
import type { World } from './world.ts';

export const interruptions = [
  'dies before',
  'dies after',
  /** The answer to the write is lost, and the client sends the write again at once. */
  'writes twice',
  /** Another transaction writes the same item. */
  'conflicts',
  /** The step happens seconds later than the process decided it. */
  'stalls',
  /** The client sends the write twice, and the second one arrives seconds later. */
  'writes again',
] as const;

export interface Interrupt {
  readonly step: number;
  readonly how: (typeof interruptions)[number];
  /** The concurrent operation: it starts while the process stalls, or before the second write. */
  readonly meanwhile?: (world: World) => unknown;
  /** How long the step is late, if not the usual time. */
  readonly lateMs?: number;
}

interface Interrupts {
  /** Starts to count the steps of the control plane and of agents. */
  arm(): void;
  /** The names of the steps so far. */
  steps(): readonly string[];
  /** Delays the next step whose process and name begin so. */
  stall(process: string, step: string, milliseconds: number): void;
  /** Called before an effect; returns how many milliseconds late it happens, if it is late. */
  before(process: Process, name: string): number | undefined;
  after(process: Process): void;
  /** What goes wrong with the write of this step. */
  trouble(process: Process): WriteTrouble | undefined;
}

interface InterruptParts {
  readonly interrupt: Interrupt | undefined;
  readonly kill: (process: Process) => void;
  readonly meanwhile: () => void;
  readonly say: (line: string) => void;
}

/** Just below the timeout of most functions. */
function usualLateMs({ name }: Process): number {
  return name === 'host-presence' ? 9000 : 18_000;
}

export function createInterrupts({ interrupt, kill, meanwhile, say }: InterruptParts): Interrupts {
  const steps: string[] = [];
  const stalls: { process: string; step: string; milliseconds: number }[] = [];
  let isArmed = false;
  const lateMs = (process: Process) => interrupt?.lateMs ?? usualLateMs(process);
  const isNow = (how: Interrupt['how'], { name }: Process) =>
    isArmed && !isOutside(name) && interrupt?.how === how && interrupt.step === steps.length;

  return {
    arm: () => {
      isArmed = true;
    },
    steps: () => [...steps],
    stall: (process, step, milliseconds) => void stalls.push({ process, step, milliseconds }),
    before: (process, name) => {
      if (!isArmed || isOutside(process.name)) return undefined;
      steps.push(name);
      if (isNow('dies before', process)) kill(process);
      if (isNow('stalls', process)) {
        say(`${process.name} stalls at ${name}`);
        meanwhile();
        return lateMs(process);
      }
      const index = stalls.findIndex(
        (each) => process.name.startsWith(each.process) && name.startsWith(each.step),
      );
      const [stall] = index < 0 ? [] : stalls.splice(index, 1);
      if (stall) say(`${process.name} stalls at ${name}, too`);
      return stall?.milliseconds;
    },
    after: (process) => {
      if (isNow('dies after', process)) kill(process);
    },
    trouble: (process) => {
      if (isNow('writes twice', process)) return { how: 'twice' };
      if (isNow('conflicts', process)) return { how: 'conflict' };
      if (!isNow('writes again', process)) return undefined;
      say(`${process.name} writes this again later`);
      meanwhile();
      return { how: 'again', afterMs: lateMs(process) };
    },
  };
}

/** Steps of Nova are not counted; `nova-events` is a queue of ours. */
export function isOutside(name: string): boolean {
  return name.split(' ')[0] === 'nova';
}
