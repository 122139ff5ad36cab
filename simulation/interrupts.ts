// One step of a run, counted from a moment on, at which something happens to whoever takes it.

import type { WriteTrouble } from './database/documents.ts';
import type { Process } from './timeline.ts';
import type { World } from './world.ts';

export const interruptions = [
  'dies before',
  'dies after',
  /** The answer to its write is lost, and it is sent again at once. */
  'writes twice',
  /** Another transaction is on the same item. */
  'conflicts',
  /** The step happens seconds later than it was decided. */
  'stalls',
  /** A write that was sent twice arrives once more, seconds later. */
  'writes again',
] as const;

export interface Interrupt {
  readonly step: number;
  readonly how: (typeof interruptions)[number];
  /** What happens while the process stalls, or before its write arrives again. */
  readonly meanwhile?: (world: World) => unknown;
  /** For how long, if not for as long as most functions may run. */
  readonly lateMs?: number;
}

export interface Interrupts {
  /** Steps of the control plane and of agents are counted from now on. */
  arm(): void;
  /** Their names, so far. */
  steps(): readonly string[];
  /** Whoever comes to such a step next, by the beginning of its name, is that much later there. */
  stall(process: string, step: string, milliseconds: number): void;
  /** Before an effect: after how many milliseconds it happens, if not now. */
  before(process: Process, name: string): number | undefined;
  after(process: Process): void;
  /** What the write of this very step meets. */
  trouble(process: Process): WriteTrouble | undefined;
}

export interface InterruptParts {
  readonly interrupt: Interrupt | undefined;
  readonly kill: (process: Process) => void;
  readonly meanwhile: () => void;
  readonly say: (line: string) => void;
}

/** As long as most functions may run. */
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
      say(`${process.name} writes this again, later`);
      meanwhile();
      return { how: 'again', afterMs: lateMs(process) };
    },
  };
}

/** Nova's side, whose steps are not ours. */
function isOutside(name: string): boolean {
  return name.startsWith('nova');
}
