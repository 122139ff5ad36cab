import type { Provider } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { type DeploymentTypes, typesRefused, typesTaken } from '#core/domain/arq/attach-types.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import {
  differsFrom,
  type HeldInventories,
  type WantedProvider,
  wantedProviders,
} from '#core/domain/placement/provider-tree.ts';
import { otherStackMark } from '#core/domain/placement/stack-mark.ts';
import { findBlockingConsumers } from '#core/operations/restore/reinstate-handles.ts';
import { ownerTrait } from '#core/shapes/vocabulary/placement-names.ts';
import { findOtherOwner, foreignProviders, readTree } from './find-other-owner.ts';
import { isIncomplete } from './mark-incomplete.ts';

/** One provider as DynamoDB, Placement and the host have it; as text for an operator. */
export interface Comparison {
  readonly provider: string;
  readonly stored: string;
  readonly placement: string;
  readonly host: string;
  readonly agrees: boolean;
}

/**
 * Compares a host's stored devices with Placement and with the host's last report. Changes
 * nothing. @throws ServiceUnavailable, RequestRefused
 */
export async function compareHost(
  deps: ConsumerDeps,
  hostname: string,
): Promise<readonly Comparison[]> {
  return (await comparePart(deps, hostname, {})).rows;
}

/** Where a comparison begins, and when it stops; ms. */
interface Bounds {
  /** The uuid of the last device of the part before. */
  readonly after?: string | undefined;
  readonly untilMs?: number;
}

export interface ComparedPart {
  readonly rows: readonly Comparison[];
  /** Devices with a provider that differs. */
  readonly differing: readonly Device[];
  /** Where the next part begins; undefined where all is compared. */
  readonly next?: string;
}

/** Compares the host's devices in the order of their uuids, one at least. */
export async function comparePart(
  deps: ConsumerDeps,
  hostname: string,
  { after, untilMs = Number.POSITIVE_INFINITY }: Bounds,
): Promise<ComparedPart> {
  const { host, devices } = await deps.store.inventory.host(hostname);
  const foreign = foreignProviders(await readTree(deps, hostname), devices);
  const rows: Comparison[] = [];
  const differing: Device[] = [];
  // The rows of a partition are in the order of their keys.
  for (const device of devices.filter(({ uuid }) => after === undefined || uuid > after)) {
    const compared = await compareDevice(deps, host, device, foreign);
    rows.push(...compared);
    if (compared.some(({ agrees }) => !agrees)) differing.push(device);
    const isLast = device.uuid === devices.at(-1)?.uuid;
    if (!isLast && deps.clock() > untilMs) return { rows, differing, next: device.uuid };
  }
  for (const address of Object.keys(host.wanted)) {
    if (devices.some((device) => device.address === address)) continue;
    const provider = `${hostname}_${address}`;
    const reported = 'reported, not described yet';
    rows.push({ provider, stored: 'nothing', placement: '', host: reported, agrees: false });
  }
  return { rows: [...rows, ...(await findStrays(deps, foreign))], differing };
}

async function compareDevice(
  deps: ConsumerDeps,
  host: StoredHost,
  device: Device,
  foreign: readonly Provider[],
): Promise<Comparison[]> {
  const providers = await deps.store.inventory.providers(device.providers);
  const other = await findOtherOwner(deps, foreign, device, async () => providers);
  const said = reported(host, device, providers);
  const rows: Comparison[] = [];
  const { attachTypes, stage } = deps.settings;
  for (const planned of wantedProviders(device, providers, deps.settings)) {
    const held = await stateInPlacement(deps, planned.uuid);
    const otherStack = held && otherStackMark(stage, held.traits);
    // A provider that must go is not removed where it is another stack's.
    const isSame = planned.isGone
      ? held === undefined || otherStack !== undefined
      : held !== undefined &&
        !differsFrom(planned, held.inventories) &&
        missing(planned.traits, held.traits).length +
          missing(held.traits, planned.traits).length ===
          0;
    const stored = providers.find(({ deployable }) => deployable.providerUuid === planned.uuid);
    const unallocated = held && stored ? await boundWithoutAllocation(deps, stored) : [];
    const blockers = held && stored ? await describeBlockers(deps, stored) : [];
    const placement = [
      held ? describe(planned, held) : 'nothing',
      ...(otherStack ? [`of another stack (${otherStack}): not touched`] : []),
      ...(other ? [`and ${other.name}, by ${other.by}`] : []),
      ...(unallocated.length > 0 ? [`bound without allocation: ${unallocated.join(', ')}`] : []),
      ...blockers,
    ];
    rows.push({
      provider: planned.name,
      stored: planned.isGone ? 'gone' : amounts(planned.inventories),
      placement: placement.join('; '),
      host: [said.words, ...(stored ? refusal(stored, attachTypes) : [])].join('; '),
      agrees: isSame && said.agrees && !other && unallocated.length + blockers.length === 0,
    });
  }
  return rows;
}

/**
 * Instances that hold attach handles of the provider without an allocation in Placement. Placement
 * offers their devices to other instances, whose binds are refused. The reaper releases instances
 * that are on no host.
 */
async function boundWithoutAllocation(
  deps: ConsumerDeps,
  { deployable, handles }: StoredProvider,
): Promise<string[]> {
  const holders = new Set(handles.flatMap(({ claim }) => claim?.instanceUuid ?? []));
  if (holders.size === 0) return [];
  const allocated = await deps.clients.placement.allocationsOf(deployable.providerUuid);
  return [...holders].filter((instance) => allocated[instance] === undefined);
}

/** Why handles are withheld that were restored from a backup. */
async function describeBlockers(deps: ConsumerDeps, stored: StoredProvider): Promise<string[]> {
  const { unknown, moved } = await findBlockingConsumers(deps, stored);
  return [
    ...(unknown.length > 0 ? [`allocated without a request: ${unknown.join(', ')}`] : []),
    ...(moved.length > 0 ? [`changed since the backup: ${moved.join(', ')}`] : []),
  ];
}

function reported(host: StoredHost, device: Device, providers: readonly StoredProvider[]) {
  const at = host.lastReportAt ?? 'never';
  if (host.wanted[device.address]) return { words: 'reported otherwise', agrees: false };
  if (isIncomplete(device, providers))
    return { words: 'reported; rows are missing', agrees: false };
  return { words: device.isGone ? `not in the report of ${at}` : `as of ${at}`, agrees: true };
}

/** Why all of a provider is reserved, where its handles cannot be attached. */
function refusal(stored: StoredProvider, attachTypes: DeploymentTypes): string[] {
  const refused = typesRefused(stored, attachTypes);
  const taken = typesTaken(stored, attachTypes).join(', ') || 'none';
  return refused.length > 0 ? [`cannot attach ${refused.join(', ')}: takes ${taken}`] : [];
}

interface ProviderState {
  readonly inventories: HeldInventories;
  readonly traits: readonly string[];
}

async function stateInPlacement(
  deps: ConsumerDeps,
  uuid: string,
): Promise<ProviderState | undefined> {
  const { placement } = deps.clients;
  const [inventories, traits] = [
    await placement.getInventories(uuid),
    await placement.getTraits(uuid),
  ];
  return inventories && traits && { inventories: inventories.inventories, traits: traits.traits };
}

function describe(planned: WantedProvider, held: ProviderState): string {
  const lacks = missing(planned.traits, held.traits).map((trait) => `-${trait}`);
  const has = missing(held.traits, planned.traits).map((trait) => `+${trait}`);
  return [amounts(held.inventories), ...lacks, ...has].join(' ');
}

function amounts(inventories: HeldInventories): string {
  const texts = Object.entries(inventories).map(
    ([name, { total, reserved = 0 }]) =>
      `${total} ${name}${reserved > 0 ? `, ${reserved} reserved` : ''}`,
  );
  return texts.join(', ') || 'no inventory';
}

function missing(planned: readonly string[], held: readonly string[]): string[] {
  return planned.filter((trait) => !held.includes(trait));
}

/**
 * Providers with the trait OWNER_CYBORG that belong to no stored device. They are only shown,
 * because another Cyborg may own them.
 */
async function findStrays(deps: ConsumerDeps, foreign: readonly Provider[]): Promise<Comparison[]> {
  const rows: Comparison[] = [];
  for (const { uuid, name } of foreign) {
    const held = await stateInPlacement(deps, uuid);
    if (!held?.traits.includes(ownerTrait)) continue;
    const other = otherStackMark(deps.settings.stage, held.traits);
    const words = `${amounts(held.inventories)}, not ours${other ? `: of another stack (${other})` : ''}`;
    rows.push({ provider: name, stored: 'nothing', placement: words, host: '', agrees: false });
  }
  return rows;
}
