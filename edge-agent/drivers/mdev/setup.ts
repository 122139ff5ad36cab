// Host setup of driver mdev: as many mdevs as fit on each parent that the settings name, made
// ahead of any bind. Touches no card that another program divides.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { reasonOf } from '#agent/log.ts';
import { type MdevParent, readMdevs } from '#agent/sysfs/mdev.ts';
import { type Card, chooseCards, serverOn, usedByOthers } from './cards.ts';
import { create, type Fill, limitOfCard, planFill } from './objects.ts';
import type { MdevSettings } from './settings.ts';

/** @param recreated uuids that a job is recreating */
export async function planMdevs(
  settings: MdevSettings,
  context: DriverContext,
  recreated: ReadonlySet<string>,
): Promise<readonly HostChange[]> {
  const changes: HostChange[] = [];
  for (const card of chooseCards(settings, context).cards) {
    const refusalNow = async () => {
      const existing = readMdevs(context.sysfs);
      const foreign = usedByOthers(settings, context, card, existing);
      const reason = foreign ?? (await serverOn(context, card, existing));
      return reason && `${card.address} ${reason}`;
    };
    changes.push(...(await planCard({ context, recreated, card, refusalNow })));
  }
  return changes;
}

interface CardWork {
  readonly context: DriverContext;
  readonly recreated: ReadonlySet<string>;
  readonly card: Card;
  readonly refusalNow: () => Promise<string | undefined>;
}

async function planCard(work: CardWork): Promise<HostChange[]> {
  const { context, card } = work;
  const { type } = card.pool;
  const fills: { readonly parent: MdevParent; readonly fill: Fill }[] = [];
  const changes: HostChange[] = [];
  const what = `number of mdevs of type ${type}`;
  for (const parent of card.parents) {
    const { address } = parent;
    try {
      fills.push({ parent, fill: await fillNow(work, parent) });
    } catch (error) {
      const refusal = `it cannot be read (${reasonOf(error)})`;
      changes.push({ address, what, before: 'unknown', after: 'as many as fit', refusal });
    }
  }
  const made = fills.reduce((sum, { fill }) => sum + fill.made, 0);
  let room = limitOfCard(context, card.parents, type) - made;
  for (const { parent, fill } of fills) {
    const count = Math.min(fill.missing.length, Math.max(0, room));
    if (count === 0) continue;
    room -= count;
    const difference = {
      address: parent.address,
      what,
      before: String(fill.made),
      after: String(fill.made + count),
    };
    const refusal = await work.refusalNow();
    if (refusal !== undefined) changes.push({ ...difference, refusal });
    else changes.push({ ...difference, apply: () => makeMdevs(work, parent, count) });
  }
  return changes;
}

function fillNow({ context, recreated, card }: CardWork, parent: MdevParent): Promise<Fill> {
  const existing = readMdevs(context.sysfs);
  return planFill(context, parent, card.pool.type, { existing, recreated });
}

/** Each time what is missing then: a job, or a death of the agent, may have come between. */
async function makeMdevs(work: CardWork, parent: MdevParent, count: number): Promise<void> {
  const { context, card, refusalNow } = work;
  const refusal = await refusalNow();
  if (refusal !== undefined) throw new Error(refusal);
  for (let left = count; left > 0; left -= 1) {
    const [uuid] = (await fillNow(work, parent)).missing;
    if (uuid === undefined) throw new Error(`it has no room for ${left} of them`);
    await create(context, parent.address, card.pool.type, uuid);
  }
}
