// How far the programs of devices' components have come, across a crash and a boot. A device of
// which a component was not programmed to the end is unhealthy until a later program of the
// component succeeds: what it runs is not known.
//
// INVARIANTS
// - A record is on disk before the component is touched, and goes when the component has shown
//   the version of its image.
// - A file that this version cannot read is kept under another name and never overwritten.

import * as z from 'zod';
import type { Log } from '#agent/log.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { readState } from './read-state.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'components.json';

const record = z.object({
  sha256: z.string(),
  /** What the component must show afterwards. */
  version: z.string(),
  /** What it showed before; a power cycle that is still to come leaves it so. */
  before: z.string(),
  /** The step that has begun; `power-cycle`: all is done but the power cycle. */
  step: z.enum(['write', 'activate', 'read back', 'power-cycle']),
  /** Why the step failed. */
  failed: z.string().optional(),
  /** ISO 8601. */
  since: z.string(),
});
export type ComponentRecord = z.infer<typeof record>;

const state = z.object({
  version: z.literal(1),
  /** Keys are addresses, then names of components. */
  devices: z.record(z.string(), z.record(z.string(), record)),
});
type State = z.infer<typeof state>;
const stateForm = {
  name: fileName,
  form: state,
  event: 'Programs of components unreadable, kept aside',
};

export interface ComponentRecords {
  read(address: string, component: string): ComponentRecord | undefined;
  /** @param record undefined where the component runs what it should */
  keep(address: string, component: string, record: ComponentRecord | undefined): Promise<void>;
  /** Notes how much of the image is written, for the next report; a crash forgets it. */
  noteProgress(address: string, component: string, percent: number): void;
  /** Percent of the image; undefined while none is written. */
  progressOf(address: string, component: string): number | undefined;
  /**
   * The device's health, where a component of it was not programmed to the end.
   *
   * @param shown what its components run: a power cycle ends the wait of each, also of one whose
   *   program an operator has given up
   */
  healthOf(address: string, shown?: ReportedDevice['components']): ReportedDevice['health'];
}

export async function openComponentRecords(files: StateFiles, log: Log): Promise<ComponentRecords> {
  let current: State = (await readState(files, stateForm, log)) ?? { version: 1, devices: {} };
  let writing: Promise<unknown> = Promise.resolve();
  /** Programs of this process: they have not ended because they are under way. */
  const underWay = new Set<string>();
  const progress = new Map<string, number>();
  const recordsOf = (address: string) =>
    Object.hasOwn(current.devices, address) ? (current.devices[address] ?? {}) : {};
  return {
    read: (address, component) => {
      const records = recordsOf(address);
      return Object.hasOwn(records, component) ? records[component] : undefined;
    },
    keep: (address, component, kept) => {
      const stored = writing.then(async () => {
        const { [component]: _, ...others } = recordsOf(address);
        const { [address]: _records, ...devices } = current.devices;
        const records = kept ? { ...others, [component]: kept } : others;
        const isEmpty = Object.keys(records).length === 0;
        const next: State = {
          version: 1,
          devices: isEmpty ? devices : { ...devices, [address]: records },
        };
        await files.replace(fileName, JSON.stringify(next));
        current = next;
        const key = `${address} ${component}`;
        if (kept && kept.failed === undefined) underWay.add(key);
        else underWay.delete(key);
        if (kept?.step !== 'write') progress.delete(key);
      });
      writing = stored.catch(() => {});
      return stored;
    },
    noteProgress: (address, component, percent) => {
      progress.set(`${address} ${component}`, Math.min(100, Math.max(0, Math.round(percent))));
    },
    progressOf: (address, component) => progress.get(`${address} ${component}`),
    healthOf: (address, shown = []) => {
      const isOpen = ([name, { step, before }]: [string, ComponentRecord]) => {
        const version = shown.find((each) => each.name === name)?.version;
        return step !== 'power-cycle' || version === undefined || version === before;
      };
      const records = Object.entries(recordsOf(address)).filter(isOpen);
      const unknown = records.find(([, { step }]) => step !== 'power-cycle');
      const [name, found] = unknown ?? records[0] ?? [];
      if (!name || !found) return undefined;
      const { step, failed, since, before } = found;
      if (!unknown) {
        const reason = `runs ${name} ${before} until the next power cycle`;
        return { state: 'degraded', reason: reason.slice(0, 255), since };
      }
      if (underWay.has(`${address} ${name}`)) {
        return { state: 'degraded', reason: `is disabled: ${name} is programmed (${step})`, since };
      }
      const how = failed === undefined ? 'has not ended' : `failed: ${failed}`;
      const reason = `is withheld: the program of ${name} (${step}) ${how}`;
      return { state: 'unhealthy', reason: reason.slice(0, 255), since };
    },
  };
}
