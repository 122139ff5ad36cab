// The agent's state files on the disk of a simulated host.

import type { StateFiles } from '#agent/state/state-files.ts';
import type { Process } from '#simulation/timeline.ts';
import type { Hardware } from './hardware.ts';
import type { HostParts } from './host.ts';

export function diskFiles(
  process: Process,
  disk: Map<string, string>,
  hardware: Hardware,
  { timeline, faults }: HostParts,
): StateFiles {
  return {
    read: (name) => timeline.effect(process, `disk read ${name}`, () => disk.get(name)),
    replace: (name, text) =>
      timeline.effect(process, `disk write ${name}`, () => {
        if (faults.happens('disk full')) throw new Error('ENOSPC');
        disk.set(name, text);
        if (name === 'jobs.json') hardware.unrecorded.clear();
      }),
    keepAside: (name) =>
      timeline.effect(process, `disk rename ${name}`, () => {
        disk.set(`${name}.kept`, disk.get(name) ?? '');
        disk.delete(name);
        return `${name}.kept`;
      }),
  };
}
