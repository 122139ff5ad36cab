// Host setup of driver gpu_vf: the shares are written before the virtual functions are made, and
// while none of them is offered or used. The functions themselves are made by driver `pci`.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { functionCount, refusalOfRemoval } from '#agent/drivers/pci/setup.ts';
import { reasonOf } from '#agent/log.ts';
import {
  type PciFunction,
  readPciFunctionAt,
  readPciFunctions,
  virtualLinks,
} from '#agent/sysfs/pci.ts';
import { profileName } from './settings.ts';
import { type GpuCard, readShares, shareValues, writeShares } from './shares.ts';

/** @param planned what driver `pci` plans for these cards */
export async function planGpuVfs(
  context: DriverContext,
  cards: readonly GpuCard[],
  planned: readonly HostChange[],
): Promise<readonly HostChange[]> {
  const changes: HostChange[] = [];
  const waiting = new Set<string>();
  for (const card of cards) {
    const { address } = card.fn;
    const unread = {
      address,
      what: sharesWhat,
      before: 'unknown',
      after: profileName(card.settings),
    };
    const ownChanges = planShares(context, card).catch((error: unknown) => [
      { ...unread, refusal: `it cannot be read (${reasonOf(error)})`.slice(0, 200) },
    ]);
    for (const change of await ownChanges) {
      changes.push(change);
      // A share that cannot be given must not be missing on functions that are made all the same.
      if (change.what === sharesWhat) waiting.add(change.address);
    }
  }
  const gim = new Map(
    cards.flatMap(({ fn }) => (fn.boundDriver === 'gim' ? [[fn.address, fn]] : [])),
  );
  return [
    ...changes,
    ...planned.flatMap((change) => {
      if (change.what !== functionCount) return [change];
      if (waiting.has(change.address)) return [];
      const { address, what, before, after } = change;
      if (!gim.has(address)) return [change];
      // gim has no sriov_configure: the kernel refuses a write of sriov_numvfs (ENOENT).
      const refusal = `its driver gim makes them when it is loaded: set its parameter vf_num to ${after}`;
      return [{ address, what, before, after, refusal }];
    }),
  ];
}

const sharesWhat = 'profile of virtual functions';
const liveWhat = 'scheduling of virtual functions';

async function planShares(context: DriverContext, card: GpuCard): Promise<HostChange[]> {
  const { address } = card.fn;
  const after = profileName(card.settings);
  const values = shareValues(context, card);
  if (typeof values === 'string') {
    const difference = { address, what: sharesWhat, before: 'unknown', after };
    return [{ ...difference, refusal: `the card ${values}` }];
  }
  const expected = values.filter((value) => value.expected !== undefined);
  const existing = numberedFunctions(context, address);
  const { wrong } = await readShares(expected);
  const first = wrong.find(({ isUnread }) => isUnread) ?? wrong[0];
  const isMade = existing.length > 0;
  // Another number of functions is made by way of none, and the shares go with them.
  const isReplaced =
    isMade &&
    existing.length !== card.settings.virtual_functions &&
    expected.some(({ isLive }) => !isLive) &&
    isIntel(card);
  if (!first && !isReplaced) return [];
  const isLive = isMade && !isReplaced && wrong.every(({ value }) => value.isLive);
  const refusalNow = () => (isLive ? findLiveRefusal(context, card) : findRefusal(context, card));
  const what = isLive ? liveWhat : sharesWhat;
  const before = first?.reason ?? `of ${existing.length} functions`;
  const refusal = first?.isUnread ? 'it cannot be read' : await refusalNow();
  if (refusal !== undefined) return [{ address, what, before, after, refusal }];
  const apply = async () => {
    const refused = await refusalNow();
    if (refused !== undefined) throw new Error(refused);
    if (!isLive) await removeFunctions(context, card);
    await writeShares(isLive ? expected.filter((value) => value.isLive) : expected);
  };
  return [{ address, what, before, after, apply }];
}

/** Those of gim exist while it is loaded. */
function isIntel({ fn }: GpuCard): boolean {
  return fn.boundDriver !== 'gim';
}

async function removeFunctions({ hardware, sysfs }: DriverContext, card: GpuCard): Promise<void> {
  const { address, path } = card.fn;
  const isMade = virtualLinks(sysfs, card.fn).length > 0;
  if (isMade && isIntel(card)) await hardware.writeText(address, `${path}/sriov_numvfs`, '0');
}

/** Offered functions get their time again after a boot; what a guest has stays as it is. */
async function findLiveRefusal(
  context: DriverContext,
  { fn }: GpuCard,
): Promise<string | undefined> {
  const existing = numberedFunctions(context, fn.address).map((each) => each.fn);
  const [first] = await context.guards.heldBy(existing, true);
  return first && `${first[0]} ${first[1]}`;
}

/** gim changes all cards that are linked with the one that is written. */
async function findRefusal(context: DriverContext, { fn }: GpuCard): Promise<string | undefined> {
  const all = readPciFunctions(context.sysfs, () => {});
  const cards = fn.boundDriver === 'gim' ? all.filter((each) => each.boundDriver === 'gim') : [fn];
  for (const card of cards) {
    const existing = all.filter(({ physicalFunction }) => physicalFunction === card.address);
    const refusal = await refusalOfRemoval(context, card, existing);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** The virtual functions of a card by their numbers: the first is number 1. */
export function numberedFunctions(
  { sysfs }: DriverContext,
  address: string,
): readonly NumberedFunction[] {
  return virtualLinks(sysfs, { path: `bus/pci/devices/${address}` }).flatMap((link) => {
    const fn = link.address === undefined ? undefined : readPciFunctionAt(sysfs, link.address);
    return fn?.physicalFunction === address ? [{ number: link.number + 1, fn }] : [];
  });
}

interface NumberedFunction {
  readonly number: number;
  readonly fn: PciFunction;
}
