// What the kit asks of `plan`: planning changes nothing, and what it plans ends in a host that
// needs no change, whatever happens to the agent or to a write.

import { deepStrictEqual as same } from 'node:assert';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { Trial } from '#test/drivers/trial.ts';
import { snapshotOf } from '#test/support/vitest/snapshot.ts';
import { type Check, CheckFailed } from './check.ts';

/** More writes than the set-up of any fixture has. */
const writesMax = 100;

/** Checks of drivers that plan; the others need nothing of their host. */
export const planChecks: readonly Check[] = [
  { title: 'plan changes nothing', run: planChangesNothing },
  { title: 'plan says what changes where, from what to what', run: planIsSaid },
  { title: 'a write of a change that hangs blocks no other driver', run: setUpHangs },
];

/** They need the kernel's side of the writes. */
export const setUpChecks: readonly Check[] = [
  { title: 'a second set-up has nothing to apply', run: setUpTwice },
  { title: 'a set-up that is killed at any write is finished by the next one', run: setUpKilled },
  ...(['EBUSY', 'EIO'] as const).map((code) => ({
    title: `a set-up with a write that is refused with ${code} is finished by the next one`,
    run: (trial: Trial) => setUpRefused(trial, code),
  })),
];

async function planOf({ driver }: Trial): Promise<readonly HostChange[]> {
  return (await driver.plan?.()) ?? [];
}

async function planChangesNothing(trial: Trial): Promise<void> {
  const before = snapshotOf(trial.host.root);
  const first = await planOf(trial);
  same(shownOf(await planOf(trial)), shownOf(first), 'The second plan is another one.');
  same(trial.faulty.written, [], 'It writes.');
  same(snapshotOf(trial.host.root), before, 'The host is another one.');
}

async function planIsSaid(trial: Trial): Promise<void> {
  const places = new Set<string>();
  for (const change of await planOf(trial)) {
    const text = JSON.stringify(change);
    const { address, what, before, after } = change;
    if (!parsePciAddress(String(address)))
      throw new CheckFailed(`The address is not one of PCI: ${text}`);
    const texts = [what, before, after, ...('refusal' in change ? [change.refusal] : [])];
    if (!texts.every((each) => typeof each === 'string' && each !== '')) {
      throw new CheckFailed(`what, before, after and refusal must be texts: ${text}`);
    }
    if (before === after) throw new CheckFailed(`It changes nothing: ${text}`);
    if ('apply' in change === 'refusal' in change) {
      throw new CheckFailed(`It must have either apply or refusal: ${text}`);
    }
    const place = `${address} ${what}`;
    if (places.has(place)) throw new CheckFailed(`Two changes of one thing: ${text}`);
    places.add(place);
  }
}

async function setUpHangs(trial: Trial): Promise<void> {
  trial.faulty.faults.hangs = 'any';
  trial.limitMs = 200;
  // Another driver's device is found, or this throws.
  await trial.discover();
}

async function setUpTwice(trial: Trial): Promise<void> {
  const first = await trial.setUp();
  const written = trial.faulty.written.length;
  same(await trial.setUp(), { applied: [], left: first.left }, 'The second one is another one.');
  same(trial.faulty.written.length, written, 'The second one writes.');
  await trial.start();
  same((await trial.setUp()).applied, [], 'An agent that has started again applies more.');
}

async function setUpKilled({ fixture }: Trial): Promise<void> {
  const whole = await endOf(fixture, async () => {});
  for (let write = 0; write < writesMax; write += 1) {
    let isDead = false;
    const end = await endOf(fixture, async (trial) => {
      isDead = await trial.isKilledAt(write, 'The set-up', () => trial.setUp());
      if (isDead) await trial.start();
    });
    same(end, whole, `Killed at write ${write}, the host is another one in the end.`);
    if (!isDead) return;
  }
  throw new CheckFailed(`It has more than ${writesMax} writes.`);
}

async function setUpRefused({ fixture }: Trial, code: string): Promise<void> {
  const whole = await endOf(fixture, async () => {});
  const end = await endOf(fixture, async (trial) => {
    trial.faulty.faults.write = code;
    await trial.setUp();
    trial.faulty.faults.write = undefined;
  });
  same(end, whole, 'The host is another one in the end.');
}

/** A new host after what happens on it and a set-up. */
async function endOf(fixture: Trial['fixture'], happens: (trial: Trial) => Promise<void>) {
  const trial = new Trial(fixture);
  try {
    await trial.start();
    await happens(trial);
    const { left } = await trial.setUp();
    return { left, plan: shownOf(await planOf(trial)), objects: trial.objects() };
  } finally {
    trial.remove();
  }
}

function shownOf(changes: readonly HostChange[]): string[] {
  return changes.map((change) => JSON.stringify(change));
}
