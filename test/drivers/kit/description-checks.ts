// What the kit asks of a description: with any key of it missing, null, of another type or huge,
// the device alone is not offered, the reason names the key, and other devices go on.

import { deepStrictEqual as same } from 'node:assert';
import type { DescribedDevice, Discovery, Driver } from '#agent/drivers/contract/driver.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { neighbour, type Trial } from '#test/drivers/trial.ts';
import { aClock, aLog } from '#test/support/hosts/agent.ts';
import { type Check, CheckFailed } from './check.ts';

export const descriptionChecks: readonly Check[] = [
  { title: 'discover with a sample of invalid keys', run: (trial) => eachKey(trial, sampleOf) },
  { title: 'discover with each invalid key', isLong: true, run: (trial) => eachKey(trial) },
  { title: 'discover with an answer that is invalid', run: eachAnswer },
];

type Path = readonly (string | number)[];

interface Mutation {
  readonly title: string;
  /** The key of the device; the reason must contain it. */
  readonly key: string;
  /** Whether it must be refused; undefined if the key may also be as it is then. */
  readonly isRefused?: true;
  readonly make: () => unknown;
}

async function eachKey(
  trial: Trial,
  chosen = (all: readonly Mutation[]): readonly Mutation[] => all,
): Promise<void> {
  const found = await trial.driver.discover();
  for (const [address, device] of Object.entries(found.devices).slice(0, 1)) {
    for (const mutation of chosen(mutationsOf(device))) {
      const devices = { ...found.devices, [address]: mutation.make() };
      try {
        await goOn(trial, { ...found, devices } as Discovery, address, mutation);
      } catch (error) {
        throw new CheckFailed(`${mutation.title}: ${(error as Error).message}`);
      }
    }
  }
}

/** Twelve, the same each time. The step is odd, because each key has four mutations. */
function sampleOf(all: readonly Mutation[]): Mutation[] {
  const most = Math.floor(all.length / 12);
  const step = Math.max(1, most % 2 === 0 ? most - 1 : most);
  return all.filter((_, index) => index % step === 0).slice(0, 12);
}

async function eachAnswer(trial: Trial): Promise<void> {
  for (const answer of [undefined, null, 7, [], {}, { devices: null }, { devices: [1] }]) {
    const { devices, failedDrivers } = await discoverAs(trial, answer);
    same(devices, [neighbourAddress]);
    same(failedDrivers, [trial.driver.name]);
  }
  const found = await trial.driver.discover();
  const notOffered = [null, 7, {}, { address: 7, reason: [] }, { address: 'x'.repeat(9999) }];
  const { devices, failedDrivers } = await discoverAs(trial, { ...found, notOffered });
  same(devices, [...Object.keys(found.devices), neighbourAddress].sort());
  same(failedDrivers, []);
}

const neighbourAddress = Object.keys((await neighbour.discover()).devices)[0] ?? '';

async function discoverAs({ driver: { name } }: Trial, answer: unknown) {
  const driver: Driver = { name, discover: async () => answer as Discovery };
  const drivers = [driver, neighbour];
  const found = await createDiscovery({ drivers, clock: aClock(), log: aLog() })();
  return { ...found, devices: found.devices.map(({ device }) => device.address).sort() };
}

async function goOn(
  trial: Trial,
  answer: Discovery,
  address: string,
  { key, isRefused }: Mutation,
): Promise<void> {
  const { devices, failedDrivers, notOffered } = await discoverAs(trial, answer);
  const others = Object.keys(answer.devices).filter((each) => each !== address);
  same(failedDrivers, []);
  same(
    devices.filter((each) => each !== address),
    [...others, neighbourAddress].sort(),
  );
  if (devices.includes(address)) {
    if (isRefused) throw new CheckFailed('The device is offered.');
    return;
  }
  const named = notOffered.find((each) => each.address === address);
  if (!named) throw new CheckFailed('The device is neither offered nor named.');
  same(named.driver, trial.driver.name);
  if (!named.reason.includes(key))
    throw new CheckFailed(`The reason names no key: ${named.reason}`);
}

function mutationsOf(device: DescribedDevice): Mutation[] {
  const circular: Record<string, unknown> = { ...device };
  circular.attributes = circular;
  const wholes = {
    null: null,
    'a number': 7,
    'an array': [],
    circular,
    bigint: { ...device, a: 1n },
  };
  return [
    ...Object.entries(wholes).map(
      ([title, whole]): Mutation => ({ title, key: '', ...refused(), make: () => whole }),
    ),
    ...pathsIn(device).flatMap((path): Mutation[] => [
      // A key that is not required may be missing.
      mutate(device, path, 'is missing', () => undefined),
      { ...mutate(device, path, 'is null', () => null), ...refused(!isNullable(path)) },
      { ...mutate(device, path, 'has another type', ofAnotherType), ...refused() },
      { ...mutate(device, path, 'is huge', toHuge), ...refused() },
    ]),
  ];
}

/** Keys that a report may have as null. */
const nullable = ['std_board_info', 'vendor_board_info', 'region-type-uuid'];

function isNullable(path: Path): boolean {
  return nullable.includes(String(path.at(-1)));
}

function refused(isRefused = true): Pick<Mutation, 'isRefused'> {
  return isRefused ? { isRefused } : {};
}

/** All keys of an object; of an array, those of its first element. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? (value.length > 0 ? [0] : []) : Object.keys(value);
  return keys.flatMap((key) => {
    const next = [...path, key];
    return [next, ...pathsIn((value as Record<string | number, unknown>)[key], next)];
  });
}

function mutate(
  device: DescribedDevice,
  path: Path,
  fault: string,
  change: (value: unknown) => unknown,
): Mutation {
  const names = path.filter((each) => typeof each === 'string');
  const make = () => {
    const copy = structuredClone(device) as unknown as Record<string | number, unknown>;
    const parent = path.slice(0, -1).reduce((at, key) => at[key] as typeof copy, copy);
    const last = path.at(-1) ?? '';
    parent[last] = change(parent[last]);
    if (parent[last] === undefined) delete parent[last];
    return copy;
  };
  return { title: `${path.join('.')} ${fault}`, key: names[0] ?? '', make };
}

function ofAnotherType(value: unknown): unknown {
  return typeof value === 'string' ? { text: value } : 'a text';
}

function toHuge(value: unknown): unknown {
  if (typeof value === 'number') return Number.MAX_VALUE;
  if (typeof value === 'string') return value.padEnd(200_000, 'x');
  if (Array.isArray(value)) return Array.from({ length: 50_000 }, () => value[0] ?? 'x');
  return Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, 'x']));
}
