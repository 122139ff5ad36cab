// Asks one driver what the agent would ask it, and prints what the host's own hardware shows.

import type { Clock } from '#agent/clock.ts';
import type { Driver, Observation } from '#agent/drivers/contract/driver.ts';
import { reasonOf } from '#agent/log.ts';
import { readPlan } from '#agent/process/set-up.ts';
import { askDriver } from '#agent/report/ask-driver.ts';
import type { DriverReport } from '#agent/report/read-discovery.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import {
  listHandles,
  listOfferings,
  type ReportedDevice,
} from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';

/** A line of the check-list; in place of a driver, it may name a part of the agent. */
export type Line = Observation & { readonly driver: string };

export type Print = (line: Line) => void;

/** Looks at all that the driver says of this host. Never rejects. */
export async function examineDriver(driver: Driver, clock: Clock, print: Print): Promise<void> {
  const say = (outcome: Line['outcome'], what: string, address?: string) =>
    print({ driver: driver.name, outcome, what, ...present({ address }) });
  const planned = await readPlan(driver);
  if ('fault' in planned) say('failed', planned.fault);
  else if (planned.changes.length === 0) say('seen', 'The host is as the settings say.');
  else
    say(
      'not seen',
      `Changes that the host needs: ${planned.changes.length}. The command plan prints them.`,
    );
  const discovery = await discovered(driver, clock, say);
  if (!discovery) return;
  for (const [address, device] of Object.entries(discovery.devices)) {
    say('seen', `Is offered as ${summarize(device)}.`, address);
    if (device.health && device.health.state !== 'healthy') {
      say('failed', `Is ${device.health.state}: it ${device.health.reason}.`, address);
    }
    await findHandles(driver, device, say);
  }
  for (const [address, fault] of Object.entries(discovery.invalid)) {
    say('failed', `The description is not valid: ${fault}.`, address);
  }
  const others = discovery.notOffered.filter((each) => !(each.address in discovery.invalid));
  for (const { address, reason } of others) {
    say('not seen', `Is not offered: it ${reason}.`, address);
  }
}

/** Has the driver look at its programs, or at what only it knows of. Never rejects. */
export async function examineWith(
  driver: Driver,
  examine: Driver['examine'],
  print: Print,
): Promise<void> {
  if (!examine) return;
  try {
    for (const each of await examine()) print({ driver: driver.name, ...each });
  } catch (error) {
    const what = `The examination failed: ${reasonOf(error)}.`;
    print({ driver: driver.name, outcome: 'failed', what });
  }
}

type Say = (outcome: Line['outcome'], what: string, address?: string) => void;

/** Asks twice: a description that changes by itself would be reported again every minute. */
async function discovered(
  driver: Driver,
  clock: Clock,
  say: Say,
): Promise<DriverReport | undefined> {
  try {
    const from = clock.monotonicMs();
    const first = await askDriver(driver, clock);
    const tookMs = Math.round(clock.monotonicMs() - from);
    const second = await askDriver(driver, clock);
    const count = Object.keys(first.devices).length;
    say(
      count > 0 ? 'seen' : 'not seen',
      `Devices that discovery finds: ${count}, in ${tookMs} ms.`,
    );
    for (const address of changedBetween(first.devices, second.devices)) {
      say('failed', 'Is described in another way by the next discovery.', address);
    }
    return second;
  } catch (error) {
    say('failed', `Discovery failed: ${reasonOf(error)}.`);
    return undefined;
  }
}

function changedBetween(one: DriverReport['devices'], other: DriverReport['devices']): string[] {
  const addresses = new Set([...Object.keys(one), ...Object.keys(other)]);
  const digest = (device: ReportedDevice | undefined) => device && computeDigest(device);
  return [...addresses].filter((address) => digest(one[address]) !== digest(other[address]));
}

function summarize(device: ReportedDevice): string {
  const { vendor, product } = device;
  const accelerators = listOfferings(device).map(
    (each) => `${each.attach_handles.length} ${each.resource_class}`,
  );
  return `${accelerators.join(', ') || 'nothing'}, vendor ${vendor}, product ${product}`;
}

/** A handle without a uuid gets one of the cloud, under which nothing exists yet. */
async function findHandles(driver: Driver, device: ReportedDevice, say: Say): Promise<void> {
  const { address } = device;
  const counts = new Map<string, number>();
  for (const { uuid, type, info } of listHandles(device)) {
    if (uuid === undefined || !driver.find) continue;
    try {
      const { state } = await driver.find({ address, uuid: uuid.toLowerCase(), type, info });
      counts.set(state, (counts.get(state) ?? 0) + 1);
    } catch (error) {
      say('failed', `The handle ${uuid} cannot be looked at: ${reasonOf(error)}.`, address);
    }
  }
  if (counts.size === 0) return;
  const parts = [...counts].map(([state, count]) => `${count} ${state}`);
  const isFailed = counts.has('other');
  say(isFailed ? 'failed' : 'seen', `Objects of its handles: ${parts.join(', ')}.`, address);
}
