import type { Deps } from '#core/deps.ts';
import { type CardPlace, type CardVerdict, judgeCard } from '#core/domain/device/card-cleaning.ts';
import type { Device, DiscoveredDevice } from '#core/domain/device/device.ts';
import { type MovedDevice, movedDevices } from '#core/domain/report/moved-devices.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { timeNow } from '#core/operations/time-now.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type CardReads, createCardReads, withoutPresent } from './earlier-places.ts';

const cardsAtOnce = 16;

interface CheckedPlan {
  readonly plan: ReportPlan;
  /** Addresses of devices whose handles their host is to clean once they are stored. */
  readonly toClean: readonly string[];
}

/**
 * The plan with cards as unhealthy that may have something of a holder elsewhere: a bind would
 * give away what that holder left on the card.
 */
export async function withholdUnclean(
  deps: Deps,
  hostname: string,
  plan: ReportPlan,
  stored: readonly Device[],
): Promise<CheckedPlan> {
  const moved = movedDevices(plan, stored);
  const before = new Map(stored.map((device) => [device.address, device]));
  const checked = new Map<string, DiscoveredDevice>();
  const toClean: string[] = [];
  const reads = createCardReads(deps, hostname);
  await forEachAtOnce(plan.put, cardsAtOnce, async (device) => {
    const { address } = device;
    const verdict = await judge(deps, reads, hostname, device, {
      before: before.get(address),
      moved: moved.filter((each) => each.address === address),
    });
    if (verdict.isToClean) toClean.push(address);
    checked.set(address, judged(deps, device, before.get(address), verdict));
  });
  return {
    plan: { ...plan, put: plan.put.map((each) => checked.get(each.address) ?? each) },
    toClean,
  };
}

interface StoredOfCard {
  readonly before: Device | undefined;
  readonly moved: readonly MovedDevice[];
}

async function judge(
  deps: Deps,
  reads: CardReads,
  hostname: string,
  device: DiscoveredDevice,
  { before, moved }: StoredOfCard,
): Promise<CardVerdict> {
  const now = timeNow(deps);
  const isSame = before !== undefined && isSameCard(before, device);
  const stored = isSame ? before.cardCleaning : undefined;
  const isIdentified = device.identity === undefined || device.identity === before?.identity;
  const isSettled = isSame && isIdentified && !before.isGone && stored?.withheldSince === undefined;
  if (isSettled && moved.length === 0)
    return { isToClean: false, ...present({ cleaning: stored }) };
  const identity = device.identity ?? before?.identity;
  const elsewhere = isSettled ? [] : await reads.elsewhere({ ...device, ...present({ identity }) });
  const left = await withoutPresent(deps, elsewhere, stored?.withheldSince ?? now);
  // Two cards with one serial number: this one was withheld for what is on the other.
  const isOther = isAt(elsewhere, stored?.heldAt) && !isAt(left, stored?.heldAt);
  const places = await reads.readPlaces([...moved.map(({ from }) => from), ...left]);
  const providers = before ? await deps.store.inventory.providers(before.providers) : [];
  const isNewCard =
    !isSame && moved.length + elsewhere.length === 0 && before?.adopted === undefined;
  return judgeCard(
    {
      hostname,
      device,
      places,
      stored: isOther ? undefined : stored,
      handles: providers.flatMap(({ handles }) => handles.filter((each) => !each.isGone)),
      isNewCard: isNewCard && isCleanedAtFirstSight(deps, device),
    },
    now,
  );
}

function isAt(devices: readonly Device[], place: CardPlace | undefined): boolean {
  return devices.some(
    ({ hostname, address }) => hostname === place?.hostname && address === place.address,
  );
}

/**
 * Or a card whose serial number is unreadable for a while, or that waits for the slot's earlier.
 */
function isSameCard(before: Device, { identity, address }: DiscoveredDevice): boolean {
  if (identity === undefined || before.identity === undefined) return true;
  const { heldAt } = before.cardCleaning ?? {};
  const waitsHere = heldAt?.hostname === before.hostname && heldAt.address === address;
  return before.identity === identity || waitsHere;
}

function isCleanedAtFirstSight({ settings }: Deps, { offers, regions }: DiscoveredDevice): boolean {
  const offerings = [...(offers ? [offers] : []), ...regions];
  return offerings.some(({ resourceClass }) => settings.cleanAtFirstSight.includes(resourceClass));
}

/**
 * While handles of an earlier card are held in the slot, the row keeps that card's identity.
 * Without a digest the agent is asked to describe the device again, after each heartbeat.
 */
function judged(
  deps: Deps,
  device: DiscoveredDevice,
  before: Device | undefined,
  { reason, cleaning }: CardVerdict,
): DiscoveredDevice {
  const described = { ...device, ...present({ cardCleaning: cleaning }) };
  if (reason === undefined) return described;
  const waitsHere =
    cleaning?.heldAt?.address === device.address && cleaning.heldAt.hostname === before?.hostname;
  const identity = waitsHere ? (before?.identity ?? device.identity) : device.identity;
  const isKnown = before?.health?.reason === reason;
  const since = isKnown ? before.health.since : timeNow(deps);
  if (!isKnown) deps.log.warn('Moved card withheld', { address: device.address, reason });
  return {
    ...described,
    ...present({ identity }),
    health: { state: 'unhealthy', reason, since },
    digest: '',
  };
}
