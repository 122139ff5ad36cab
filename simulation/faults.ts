// Faults: how often each occurs, and how often it did.

import type { Random } from './random.ts';

/** Probability at each opportunity. */
const faultRates = {
  /** A process dies before or after one of its effects. */
  crash: 0.004,
  /** Lambda has no execution left: API Gateway answers 503, and no function runs. */
  'function throttled': 0.01,
  /** A function starts seconds late, and its time limit begins with its start. */
  'function cold': 0.05,
  /** One effect of a function of the API takes longer than API Gateway waits, or nearly so. */
  'function slow': 0.003,
  /** DynamoDB: another transaction writes the same item. */
  conflict: 0.03,
  /** DynamoDB: the client has given up retrying. */
  'database throttled': 0.004,
  /** The answer to a write is lost, and the client sends it again. */
  'write twice': 0.03,
  'index lags': 0.3,
  'stream batch twice': 0.05,
  'message twice': 0.05,
  'message late': 0.1,
  'CreateJob throttled': 0.1,
  'IoT event lost': 0.04,
  'IoT event twice': 0.1,
  'MQTT message lost': 0.02,
  'connection lost': 0.004,
  'presence event lost': 0.1,
  'Placement unavailable': 0.04,
  'Placement written by others': 0.05,
  'Nova unavailable': 0.05,
  'Nova event lost': 0.1,
  /** Nova has the server and answers 404. */
  'Nova answers 404': 0.03,
  'Keystone unavailable': 0.01,
  'Glance unavailable': 0.1,
  'device refuses': 0.05,
  'device cannot be read': 0.02,
  'disk full': 0.01,
  'agent killed': 0.002,
  /** A host boots with an empty disk: replaced, wiped, or restored from an image. */
  'state files lost': 0.1,
} as const;

/** No faults but this one: AWS IoT may send a job event more than once. */
export const quietRates: Rates = { 'IoT event twice': 0.9 };

/** A draw for a fault without a rate would change the replay of every operation. */
const drawnWithRateOnly: readonly string[] = [
  'function throttled',
  'function cold',
  'function slow',
  'device cannot be read',
  'state files lost',
];

export type Rates = Readonly<Partial<Record<keyof typeof faultRates, number>>>;

/** Faults of a whole host or service; each lasts for a while. */
export const disasters = [
  'host reboots',
  'host lost for days',
  'device removed',
  'Nova outage',
  'Nova forgets servers',
  'Placement outage',
  'Keystone outage',
  'IoT outage',
  'clock set back',
] as const;

export type FaultKind = keyof typeof faultRates;
export type Disaster = (typeof disasters)[number];

export interface Faults {
  /** Draws whether the fault occurs now, and counts it if so. */
  happens(kind: FaultKind): boolean;
  note(disaster: Disaster): void;
  /** Ends all faults. */
  stop(): void;
  readonly counts: ReadonlyMap<string, number>;
}

/** @param intensity multiplies all rates: most scenarios have a few faults, some have many */
export function createFaults(random: Random, intensity: number, rates: Rates = faultRates): Faults {
  const counts = new Map<string, number>();
  let isOn = true;
  const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return {
    counts,
    happens: (kind) => {
      if (drawnWithRateOnly.includes(kind) && !rates[kind]) return false;
      const happens = isOn && random.chance(Math.min(0.9, (rates[kind] ?? 0) * intensity));
      if (happens) count(kind);
      return happens;
    },
    note: count,
    stop: () => {
      isOn = false;
    },
  };
}
