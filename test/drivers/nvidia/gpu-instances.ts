// GPU instances of cards as nvidia-smi lists and makes them, in the form of its recorded tables.
// Exit codes are assumed: no record has them.

import { deepStrictEqual as same } from 'node:assert';
import type { Answer, Hardware } from '#agent/hardware/port.ts';

const rule = `+${'-'.repeat(55)}+`;
const header = [
  rule,
  '| GPU instances:                                        |',
  '| GPU   Name             Profile  Instance   Placement  |',
  '|                          ID       ID       Start:Size |',
  `|${'='.repeat(55)}|`,
];

export class GpuInstances {
  /** Profiles of the instances, by card. */
  readonly made = new Map<string, number[]>();
  /** What was run beside lists. */
  readonly changes: string[] = [];
  /** In place of a list. */
  listed: Answer | undefined;
  /** The power is lost after this many instances of the next change. */
  powerLost: number | undefined;
  readonly #room: number;

  /** @param room instances that a card can have */
  constructor(room: number) {
    this.#room = room;
  }

  /** @param other runs other programs */
  exec(other: Hardware['exec']): Hardware['exec'] {
    return async (device, tool, args, limitMs) => {
      if (tool !== '/usr/bin/nvidia-smi') return await other(device, tool, args, limitMs);
      const [mig, option, card = '', verb, profiles = ''] = args;
      same([mig, option, card], ['mig', '-i', device]);
      return verb === '-lgi' ? this.#list(card) : this.#make(card, profiles);
    };
  }

  #list(card: string): Answer {
    if (this.listed) return this.listed;
    const rows = (this.made.get(card) ?? []).flatMap((profile, index) => [
      `|   0  MIG 1g.5gb       ${String(profile).padStart(5)}${String(index + 7).padStart(9)}          ${index}:1     |`,
      rule,
    ]);
    return rows.length === 0
      ? { exitCode: 6, stdout: 'No GPU instances found: Not Found\n', stderr: '' }
      : { exitCode: 0, stdout: [...header, ...rows, ''].join('\n'), stderr: '' };
  }

  #make(card: string, profiles: string): Answer {
    this.changes.push(`${card} ${profiles}`);
    const made = this.made.get(card) ?? [];
    this.made.set(card, made);
    for (const [index, profile] of profiles.split(',').map(Number).entries()) {
      if (index === this.powerLost) throw new Error('The power is lost.');
      if (made.length === this.#room) {
        const stderr = 'Unable to create a GPU instance: Insufficient Resources\n';
        return { exitCode: 19, stdout: '', stderr };
      }
      made.push(profile);
    }
    return { exitCode: 0, stdout: '', stderr: '' };
  }
}
