// Brings back what the physical function of a network card held of a virtual one before its
// holder, and verifies it. A reset of the virtual function does not reach it.

import { randomBytes } from 'node:crypto';
import type { Clock } from '#agent/clock.ts';
import { type PciFunction, readPciFunctionAt, virtualLinks } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { compareSettings, type FunctionSettings, kernelDefaults, noMac } from './function.ts';
import { type LinkDeps, type Ports, readLink, setFunction } from './link.ts';

interface RestoreDeps extends LinkDeps {
  readonly clock: Clock;
  readonly ports: Ports;
}

/** A card takes up to some seconds to have reset a function, and refuses settings meanwhile. */
const attemptsMax = 10;
const pauseMs = 1_000;

/** The number of a virtual function at its card: `3` of the link `virtfn3`. */
export function functionNumber(
  sysfs: Sysfs,
  card: PciFunction,
  address: string,
): number | undefined {
  return virtualLinks(sysfs, card).find((link) => link.address === address)?.number;
}

/**
 * @param recorded undefined where the agent has not seen the function before its holder
 * @throws a sentence unless the card shows all of it
 */
export async function restoreFunction(
  deps: RestoreDeps,
  cardAddress: string,
  address: string,
  recorded: FunctionSettings | undefined,
): Promise<Evidence> {
  let target = recorded ?? kernelDefaults;
  const changed = new Set<string>();
  let reason = '';
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    if (attempt > 1) await deps.clock.sleep(pauseMs);
    // Names and numbers anew: the card may have been unbound and bound.
    const { fn, name, number, now } = await look(deps, cardAddress, address);
    const hidden = findHidden(now, recorded);
    if (hidden !== undefined) {
      const what = `the setting ${hidden} of ${address}`;
      throw new Error(`The card ${cardAddress} does not show ${what}, and did before.`);
    }
    const left = compareSettings(now, target);
    const [first] = left;
    if (!first) return toEvidence(now, changed, recorded !== undefined);
    for (const { what, args } of left) {
      changed.add(what);
      const fault = await setFunction(deps, fn, name, ['vf', String(number), ...args]);
      if (fault === undefined) continue;
      reason = `: ${fault}`;
      // Some drivers take no address of zeros. The one of the last holder must not stay.
      if (what === 'MAC address' && target.mac === noMac) target = { ...target, mac: freshMac() };
    }
    if (attempt === attemptsMax) {
      const { what, before, after } = first;
      throw new Error(`The ${what} of ${address} is ${before}, not ${after}${reason}.`);
    }
  }
  throw new Error(`The settings of ${address} cannot be restored.`);
}

/** What was recorded and is not shown now cannot be compared. */
function findHidden(now: FunctionSettings, recorded: FunctionSettings | undefined) {
  const shown = new Set(Object.keys(now));
  return Object.keys(recorded ?? {}).find((name) => !shown.has(name));
}

async function look(deps: RestoreDeps, cardAddress: string, address: string) {
  const fn = readPciFunctionAt(deps.sysfs, cardAddress);
  if (!fn) throw new Error(`The card ${cardAddress} is no longer there.`);
  const number = functionNumber(deps.sysfs, fn, address);
  if (number === undefined) throw new Error(`${cardAddress} has no virtual function ${address}.`);
  const { uplink: name } = await deps.ports.interfacesOf(fn).catch((error: Error) => {
    throw new Error(`The card ${cardAddress} ${error.message}.`);
  });
  const now = (await readLink(deps, fn, name)).functions.get(number);
  if (!now) throw new Error(`The interface ${name} does not show the function ${address}.`);
  return { fn, name, number, now };
}

/** Locally administered, of no other function. */
function freshMac(): string {
  const bytes = randomBytes(5);
  return ['02', ...[...bytes].map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
}

function toEvidence(
  now: FunctionSettings,
  changed: ReadonlySet<string>,
  isRecorded: boolean,
): Evidence {
  const { mac, vlan, ...others } = now;
  return {
    cleaned_by: 'reset and restore',
    restored_from: isRecorded ? 'the state before its holder' : 'defaults of the kernel',
    restored: [...changed].sort().join(', ') || 'nothing',
    mac,
    vlan,
    ...others,
  };
}
