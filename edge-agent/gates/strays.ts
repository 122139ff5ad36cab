// Processes that a gate has left. A process that has left the process group of its gate still has
// the environment in which it was started, unless it has cleared that as well.

import type { Proc } from '#agent/guards/proc.ts';

/** A process may start others while they are ended. */
const passesMax = 5;

/** Ends all processes whose environment has the entry. @returns how many there were */
export function endStrays(proc: Proc, entry: string): number {
  const ended = new Set<number>();
  for (let pass = 0; pass < passesMax; pass += 1) {
    const strays = findStrays(proc, entry);
    if (strays.length === 0) break;
    for (const pid of strays) if (kill(pid)) ended.add(pid);
  }
  return ended.size;
}

function findStrays(proc: Proc, entry: string): number[] {
  return (proc.list('.') ?? []).flatMap((name) => {
    if (!/^[0-9]+$/.test(name) || name === String(process.pid)) return [];
    const environment = proc.read(`${name}/environ`);
    return environment?.split('\0').includes(entry) ? [Number(name)] : [];
  });
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
    return false;
  }
}
