// Prepares and cleans handles of one device as jobs would, and prints what the driver has
// verified. Only for a device that this host has never offered, because what is on it is erased.

import { randomUUID } from 'node:crypto';
import type { Clock } from '#agent/clock.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { reasonOf } from '#agent/log.ts';
import { askDriver } from '#agent/report/ask-driver.ts';
import { printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import { listHandles } from '#core/contracts/report/inventory-report.ts';
import type { Print } from './examine-driver.ts';

/** The message is a sentence for the operator. */
export class EraseRefused extends Error {
  override readonly name = 'EraseRefused';
}

interface EraseDeps {
  readonly drivers: readonly Driver[];
  /** Whether an agent of this host has offered the function, or may have offered the device. */
  readonly mayBeOffered: (address: string) => boolean;
  readonly clock: Clock;
  readonly print: Print;
}

/** @throws EraseRefused before anything is changed */
export async function eraseDevice(deps: EraseDeps, address: string): Promise<void> {
  const { driver, device } = await deviceAt(deps, address);
  const handles = listHandles(device);
  for (const each of new Set([address, ...handles.flatMap(handleFunction)])) {
    if (!deps.mayBeOffered(each)) continue;
    throw new EraseRefused(`${each} is offered to guests, whose data would be erased.`);
  }
  const say = (outcome: 'seen' | 'not seen' | 'failed', what: string) =>
    deps.print({ driver: driver.name, address, outcome, what });
  const chosen = handles.find(({ prepare, clean_seconds: seconds }) => {
    return prepare === 'at-bind' || seconds !== undefined;
  });
  if (!chosen) return say('not seen', 'No handle of it is prepared or cleaned by a job.');
  const work = toWork(address, chosen);
  try {
    if (chosen.prepare === 'at-bind') await prepare(driver, work, say);
    await clean(driver, work, chosen, say);
  } catch (error) {
    const reason = reasonOf(error).replace(/\.$/, '');
    say('failed', `The test of the handle ended: ${reason}.`);
  }
  const after = await deviceAt(deps, address).catch(() => undefined);
  const isSame = after && computeDigest(after.device) === computeDigest(device);
  say(isSame ? 'seen' : 'failed', `Is described ${isSame ? 'as' : 'in another way than'} before.`);
}

type Say = (outcome: 'seen' | 'not seen' | 'failed', what: string) => void;

async function deviceAt({ drivers, clock }: EraseDeps, address: string) {
  const addresses: string[] = [];
  for (const driver of drivers) {
    const { devices } = await askDriver(driver, clock);
    const device = Object.hasOwn(devices, address) ? devices[address] : undefined;
    if (device) return { driver, device };
    addresses.push(...Object.keys(devices));
  }
  const offered = addresses.length > 0 ? `these are: ${addresses.join(', ')}` : 'none is';
  throw new EraseRefused(`No driver offers ${address}; ${offered}.`);
}

function handleFunction({ info }: ReportedHandle): string[] {
  const { domain, bus, device, function: fn } = info;
  if (!domain || !bus || !device || !fn) return [];
  return [printPciAddress({ domain, bus, device, function: fn })];
}

function toWork(address: string, { uuid, type, info }: ReportedHandle): HandleWork {
  return { address, uuid: (uuid ?? randomUUID()).toLowerCase(), type, info };
}

async function prepare(driver: Driver, work: HandleWork, say: Say): Promise<void> {
  if (!driver.prepare || !driver.find) throw new Error('the driver cannot prepare');
  await driver.prepare(work);
  const { state } = await driver.find(work);
  say(state === 'ready' ? 'seen' : 'failed', `A prepared handle is found as ${state}.`);
}

async function clean(
  driver: Driver,
  work: HandleWork,
  { prepare: when }: ReportedHandle,
  say: Say,
): Promise<void> {
  if (!driver.clean) throw new Error('the driver cannot clean');
  const evidence = await driver.clean(work, () => {});
  say('seen', `A handle is cleaned, with the evidence ${JSON.stringify(evidence)}.`);
  if (when !== 'at-bind' || !driver.find) return;
  const { state } = await driver.find(work);
  say(state === 'absent' ? 'seen' : 'failed', `A cleaned handle is found as ${state}.`);
}
