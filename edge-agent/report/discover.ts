// Calls all drivers. A driver that throws, hangs or answers invalid data does not affect the
// others: the report names it as failed, so that its earlier devices are kept and do not count as
// gone.

import type { Clock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import type { Gates } from '#agent/gates/gates.ts';
import type { Health } from '#agent/hardware/device-queue.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type Log, type LogFields, reasonOf } from '#agent/log.ts';
import type { DescribeCards } from '#agent/process/describe-cards.ts';
import type { NovaDevices } from '#agent/process/nova-devices.ts';
import { type SetUpEnd, setUp } from '#agent/process/set-up.ts';
import type { LookAtServers } from '#agent/servers/seen-attachments.ts';
import type { ComponentRecords } from '#agent/state/component-records.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import {
  type NotOffered,
  notOfferedMax,
  type ReportedDevice,
} from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { askDriver } from './ask-driver.ts';
import { inTime } from './in-time.ts';
import { createComponentLists } from './list-components.ts';

/** The same as for the discovery itself. */
const setUpSecondsMax = 30;

export interface FoundDevice {
  readonly device: ReportedDevice;
  readonly digest: string;
}

export interface Found {
  /** In the order of their addresses. */
  readonly devices: readonly FoundDevice[];
  readonly failedDrivers: readonly string[];
  /** In the order of their addresses; bounded. */
  readonly notOffered: readonly NotOffered[];
  /** The host's releases of nova-compute; empty: unknown. */
  readonly novaVersions: readonly string[];
}

interface DiscoveryDeps {
  /** In the operator's order: the first driver that claims an address keeps it. */
  readonly drivers: readonly Driver[];
  /** Whether operations on the device end in time; without it, drivers alone report health. */
  readonly healthOf?: Hardware['healthOf'];
  /** Without it no component was programmed. */
  readonly components?: Pick<ComponentRecords, 'healthOf' | 'progressOf'>;
  /**
   * What the kernel has logged of devices, what vendors' tools say of them, failed preparations,
   * and links. The first that finds a device unhealthy says why.
   */
  readonly faults?: readonly FaultSource[];
  /** Without it no gate follows a cleaning. */
  readonly gates?: Pick<Gates, 'describe' | 'isHeld' | 'wasHeld' | 'withoutDevice'>;
  readonly novaVersions?: () => readonly string[];
  /** Without it, Nova is not known to give out devices by itself. */
  readonly novaDevices?: () => NovaDevices;
  /** Without it no card is compared with the one before. */
  readonly describeCards?: DescribeCards;
  /** Without it servers are not looked at. */
  readonly lookAtServers?: LookAtServers;
  readonly clock: Clock;
  readonly log: Log;
}

interface FaultSource {
  /** Looks at the devices before their health is asked. Never rejects. */
  look?(devices: readonly ReportedDevice[]): Promise<void>;
  healthOf(address: string): ReportedDevice['health'];
}

const noGates: NonNullable<DiscoveryDeps['gates']> = {
  describe: (device) => device,
  isHeld: () => false,
  wasHeld: () => false,
  withoutDevice: () => [],
};

/** Keep the returned function: it remembers the valid devices of earlier calls. */
export function createDiscovery({
  drivers,
  healthOf,
  components,
  faults = [],
  gates = noGates,
  novaVersions = () => [],
  novaDevices = () => ({ ownerOf: () => undefined }),
  describeCards = async () => ({ cards: new Map(), refusals: new Map() }),
  lookAtServers = async () => () => undefined,
  clock,
  log,
}: DiscoveryDeps): () => Promise<Found> {
  /** Addresses of devices that were described well before. */
  let seen: ReadonlySet<string> = new Set();
  let last: readonly FoundDevice[] = [];
  let before: ReadonlyMap<string, string> = new Map();
  let said = new Map<string, string>();
  const withComponents = createComponentLists({ records: components, clock });

  /** Logs a sentence once, not at each discovery. */
  const say = (key: string, message: string, fields: LogFields) => {
    const text = JSON.stringify(fields);
    if (before.get(key) !== text) log.warn(message, fields);
    said.set(key, text);
  };
  const setUpAndAsk = async (driver: Driver) => {
    const { left: faults } = driver.plan ? await setUpInTime(driver) : { left: [] };
    if (faults.length > 0) say(driver.name, 'Set-up incomplete', { driver: driver.name, faults });
    const { devices, notOffered, invalid } = await askDriver(driver, clock);
    const listed = Object.entries(devices).map(async ([address, device]) => {
      const warn = (fields: LogFields) =>
        say(`${driver.name} ${address} components`, 'Components not read', fields);
      return [address, await withComponents(driver, device, warn)] as const;
    });
    return { devices: await Promise.all(listed), notOffered, invalid };
  };

  const settingUp = new Map<Driver, Promise<SetUpEnd>>();

  /**
   * A write that hangs must not delay the other drivers. Until it ends the driver is not asked,
   * because a host that is half set up lacks devices; those it had before are kept.
   */
  const setUpInTime = async (driver: Driver): Promise<SetUpEnd> => {
    const running = settingUp.get(driver) ?? setUp(driver, log, gates.isHeld);
    settingUp.set(driver, running);
    running.finally(() => settingUp.delete(driver));
    return await inTime(clock, setUpSecondsMax, running, () => {
      return new Error(`no set-up within ${setUpSecondsMax} s`);
    });
  };

  return async () => {
    before = said;
    said = new Map();
    const startedMs = clock.monotonicMs();
    const answers = await Promise.allSettled(drivers.map(setUpAndAsk));
    const described = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value.devices.map(([, device]) => device) : [],
    );
    await Promise.all(faults.map((each) => each.look?.(described)));
    const { cards, refusals } = await describeCards(described);
    const seenOf = await lookAtServers(described).catch((error: unknown) => {
      log.error('Servers not compared with their devices', { reason: reasonOf(error) });
      return () => undefined;
    });
    const nova = novaDevices();
    if (nova.fault) say('nova', "Nova's settings not read", { reason: nova.fault });
    // What a gate has had on another driver is reported as before.
    const held = last.filter(({ device }) => gates.wasHeld(device.address, startedMs));
    const devices = new Map(held.map((each) => [each.device.address, each]));
    const isHeld = new Set(devices.keys());
    const notOffered: NotOffered[] = [];
    const failedDrivers = new Set<string>();
    const fail = (driver: Driver, message: string, fields: LogFields) => {
      failedDrivers.add(driver.name);
      log.error(message, { driver: driver.name, ...fields });
    };
    const refuse = (driver: Driver, refused: NotOffered) => {
      say(`${driver.name} ${refused.address}`, 'Device not offered', refused);
      notOffered.push(refused);
    };
    for (const [index, driver] of drivers.entries()) {
      const answer = answers[index];
      if (answer?.status !== 'fulfilled') {
        fail(driver, 'Driver discovery failed', { reason: reasonOf(answer?.reason) });
        continue;
      }
      for (const [address, unheld] of answer.value.devices) {
        if (isHeld.has(address)) continue;
        const listed = gates.describe(unheld);
        const refusal = refusals.get(address);
        if (refusal !== undefined) {
          refuse(driver, { address, driver: driver.name, reason: refusal });
          continue;
        }
        const program = components?.healthOf(address, listed.components);
        const healthy = withHealth(listed, healthOf?.(address), [
          program,
          ...faults.map((each) => each.healthOf(address)),
        ]);
        const device = {
          ...healthy,
          ...present({
            ...cards.get(address),
            seen_attachments: seenOf(address),
            other_owner: nova.ownerOf(healthy),
          }),
        };
        claim(devices, { device, digest: computeDigest(device) }, log);
      }
      for (const [address, fault] of Object.entries(answer.value.invalid)) {
        // What the control plane knows of it is kept.
        if (seen.has(address) && !isHeld.has(address)) {
          fail(driver, 'Device description invalid', { address, fault });
        }
      }
      for (const refused of answer.value.notOffered) {
        if (!isHeld.has(refused.address)) refuse(driver, refused);
      }
    }
    last = [...devices.values()];
    // A class that is misspelt would pass every device of the class that was meant.
    for (const gate of gates.withoutDevice(last.map(({ device }) => device))) {
      say(`gate ${gate}`, 'Gate of no device', { gate });
    }
    seen = new Set([...seen, ...devices.keys()]);
    return {
      devices: last.toSorted(byAddress),
      failedDrivers: [...failedDrivers],
      notOffered: notOffered
        .sort((a, b) => (a.address < b.address ? -1 : 1))
        .slice(0, notOfferedMax),
      novaVersions: novaVersions(),
    };
  };
}

/**
 * The device as unhealthy where an operation on it hangs, a component was not programmed to the
 * end, or the kernel or a vendor's tool names a fatal fault, whatever its driver says.
 */
function withHealth(
  device: ReportedDevice,
  operations: Health | undefined,
  others: readonly ReportedDevice['health'][],
): ReportedDevice {
  if (operations?.state === 'unhealthy') {
    const { state, reason, since } = operations;
    return { ...device, health: { state, reason, since } };
  }
  const all = [...others, device.health];
  const health = all.find((each) => each?.state === 'unhealthy') ?? all.find(Boolean);
  return health && health !== device.health ? { ...device, health } : device;
}

function byAddress(a: FoundDevice, b: FoundDevice): number {
  return a.device.address < b.device.address ? -1 : 1;
}

function claim(devices: Map<string, FoundDevice>, device: FoundDevice, log: Log): void {
  const { address, driver } = device.device;
  const kept = devices.get(address)?.device.driver;
  if (kept === undefined) devices.set(address, device);
  else log.warn('Device claimed by two drivers, the first keeps it', { address, kept, driver });
}
