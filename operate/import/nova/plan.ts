// The plan of a move from Nova's PCI passthrough and vGPUs: settings of the agent, device
// profiles, flavors, and for each thing that stays with Nova, why. Pure.

import { ConfigInvalid, loadConfig } from '#agent/config/config.ts';
import type { NovaOptions } from '#core/contracts/nova/nova-conf.ts';
import {
  type AliasSpec,
  type DeviceSpec,
  type Fault,
  readAliases,
  readDeviceSpecs,
} from '#core/contracts/nova/pci-forms.ts';
import { givesSame } from '#core/domain/profile/alternatives.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { planNovaDevices } from './companions.ts';
import type { Flavor } from './flavors.ts';
import type { AliasPlan, AllowListItem, DevicePlan } from './plan-devices.ts';
import {
  distinctProfiles,
  type FlavorPlan,
  makeProfile,
  type NewProfile,
  nameOf,
  planFlavor,
} from './plan-flavors.ts';
import { type MdevPool, planNovaMdevs } from './plan-mdevs.ts';

/**
 * `move`: it becomes a setting, a profile or a flavor of this service. `present`: the profile is
 * stored already. `stay`: it stays with Nova. `skip`: refused, and left out by the operator.
 * `refuse`: nothing is written until it is mended, or skipped by its name.
 */
export type NovaVerdict = 'move' | 'present' | 'stay' | 'skip' | 'refuse';

export interface NovaRow {
  readonly what: 'device_spec' | 'alias' | 'mdev' | 'settings' | 'profile' | 'flavor';
  readonly name: string;
  readonly verdict: NovaVerdict;
  readonly note: string;
}

/** Part of the agent's settings file. */
export interface HostSettings {
  readonly drivers: readonly string[];
  readonly pci?: { readonly allow_list: readonly AllowListItem[] };
  readonly mdev?: { readonly pools: readonly MdevPool[] };
  readonly attach_types?: readonly string[];
}

export interface NovaPlan {
  readonly rows: readonly NovaRow[];
  /** Undefined if nothing moves. */
  readonly settings: HostSettings | undefined;
  /** Those that are not stored yet. */
  readonly profiles: readonly NewProfile[];
  readonly flavors: readonly FlavorPlan[];
}

export interface NovaRequest {
  readonly options: NovaOptions;
  /** Undefined: the operator gave none. */
  readonly flavors: readonly Flavor[] | undefined;
  /** Stored profiles of some names; undefined: not asked. */
  readonly stored: readonly DeviceProfile[] | undefined;
  readonly mdevTraits: ReadonlyMap<string, string>;
  readonly isMdevAttached: boolean;
  /** Names of refused rows that the operator leaves out. */
  readonly skipped: ReadonlySet<string>;
}

export function planNova(request: NovaRequest): NovaPlan {
  const { options, skipped } = request;
  const specs = readDeviceSpecs(options.deviceSpecs);
  const aliases = consistent(readAliases(options.aliases));
  const faulty = new Set(aliases.filter(isFault).map(({ name }) => name));
  const { isInPlacement } = options;
  const devices = planNovaDevices({
    specs: specs.flatMap((each) => (isFault(each) ? [] : [each])),
    aliases: aliases.flatMap((each) => (isFault(each) || faulty.has(each.name) ? [] : [each])),
    isInPlacement,
  });
  const mdevs = planNovaMdevs(options.mdevTypes, request.mdevTraits, request.isMdevAttached);
  const deps = { aliases: devices.aliases, faulty, mdevs, mdevTraits: request.mdevTraits };
  const flavorPlans = (request.flavors ?? []).flatMap((flavor) => planFlavor(flavor, deps) ?? []);
  const profiles = planProfiles(devices.aliases, flavorPlans, request.stored);
  const flavors = flavorPlans.map((plan) => withoutRefused(plan, profiles.rows));
  const settings = makeSettings(devices.allowList, mdevs.pools);
  const rows: NovaRow[] = [
    ...specs.map((spec) => specRow(spec, devices)),
    ...faultRows('alias', aliases.filter(isFault)),
    ...devices.aliases.map((alias) => aliasRow(alias, request.flavors)),
    ...mdevs.rows.map((row) => ({ what: 'mdev' as const, ...row })),
    ...faultsOfSettings(settings),
    ...profiles.rows,
    ...flavors.map(flavorRow),
  ];
  return {
    rows: rows.map((row) =>
      row.verdict === 'refuse' && skipped.has(row.name) ? { ...row, verdict: 'skip' } : row,
    ),
    settings,
    profiles: profiles.profiles,
    flavors,
  };
}

function isFault(entry: DeviceSpec | AliasSpec | Fault): entry is Fault {
  return 'fault' in entry;
}

/** Nova takes values of one name as alternatives, of one type and one policy. */
function consistent(aliases: readonly (AliasSpec | Fault)[]): readonly (AliasSpec | Fault)[] {
  return aliases.map((each) => {
    if (isFault(each)) return each;
    const { name, deviceType, numaPolicy } = each;
    const first = aliases.find((one) => !isFault(one) && one.name === name) as AliasSpec;
    const isSame = first.deviceType === deviceType && first.numaPolicy === numaPolicy;
    return isSame ? each : { name, fault: 'its values differ in device_type or numa_policy' };
  });
}

function faultRows(kind: NovaRow['what'], faults: readonly Fault[]): NovaRow[] {
  return faults.map(({ name, fault }) => ({ what: kind, name, verdict: 'refuse', note: fault }));
}

const withCard = 'goes with its card (companions of driver pci)';

function specRow(
  spec: DeviceSpec | Fault,
  { staying, companions }: Pick<DevicePlan, 'staying' | 'companions'>,
): NovaRow {
  const { name } = spec;
  if (isFault(spec)) return { what: 'device_spec', name, verdict: 'refuse', note: spec.fault };
  const reason = staying.get(name);
  if (reason !== undefined) return { what: 'device_spec', name, verdict: 'stay', note: reason };
  const place = companions.has(name) ? withCard : 'allow_list of driver pci';
  const note = spec.isMigratable ? 'live migration is lost' : place;
  return { what: 'device_spec', name, verdict: 'move', note };
}

function aliasRow(plan: AliasPlan, flavors: readonly Flavor[] | undefined): NovaRow {
  const { name } = plan;
  if ('reason' in plan) return { what: 'alias', name, verdict: 'stay', note: plan.reason };
  if ('cards' in plan) {
    const note = `${withCard}; no profile asks for it, beside ${plan.cards.join(', ')}`;
    return { what: 'alias', name, verdict: 'move', note };
  }
  const isAsked = (flavors ?? []).some(({ properties }) =>
    (properties['pci_passthrough:alias'] ?? '')
      .split(',')
      .some((each) => each.split(':')[0]?.trim() === name),
  );
  const notes = [
    `profile ${nameOf(plan.as, 1)}`,
    ...(plan.as === name ? [] : [`asks for the same as alias ${plan.as}`]),
    ...plan.notes,
    ...(flavors && !isAsked ? ['no flavor asks for it'] : []),
  ];
  return { what: 'alias', name, verdict: 'move', note: notes.join('; ') };
}

function flavorRow(plan: FlavorPlan): NovaRow {
  const { flavor, verdict, notes } = plan;
  const change =
    plan.verdict === 'move'
      ? [`without ${plan.gone.join(', ')}`, `with accel:device_profile=${plan.profile.name}`]
      : [];
  const note = [...change, ...notes].join('; ');
  return { what: 'flavor', name: flavor.name, verdict, note };
}

/** A flavor must not get a profile of that name with other groups. */
function withoutRefused(plan: FlavorPlan, rows: readonly NovaRow[]): FlavorPlan {
  const { flavor, verdict } = plan;
  const isRefused = (name: string) =>
    rows.some((row) => row.name === name && row.verdict === 'refuse');
  if (verdict !== 'move' || !isRefused(plan.profile.name)) return plan;
  return { flavor, verdict: 'stay', notes: [`its profile ${plan.profile.name} is refused`] };
}

function planProfiles(
  aliases: readonly AliasPlan[],
  flavors: readonly FlavorPlan[],
  stored: readonly DeviceProfile[] | undefined,
): { readonly rows: readonly NovaRow[]; readonly profiles: readonly NewProfile[] } {
  const rows: NovaRow[] = [];
  const refuse = (name: string, note: string) =>
    void rows.push({ what: 'profile', name, verdict: 'refuse', note });
  const ofAliases = aliases.flatMap((plan): NewProfile[] => {
    if (!('group' in plan) || plan.as !== plan.name) return [];
    const profile = makeProfile([{ name: nameOf(plan.name, 1), groups: [plan.group] }]);
    if (typeof profile !== 'string') return [profile];
    refuse(plan.name, profile);
    return [];
  });
  const ofFlavors = flavors.flatMap((plan) => (plan.verdict === 'move' ? [plan.profile] : []));
  const { profiles, ambiguous } = distinctProfiles([...ofAliases, ...ofFlavors]);
  for (const name of ambiguous) {
    refuse(name, 'two aliases or flavors need a profile of this name: rename an alias');
  }
  const missing = profiles.filter(({ name, groups }) => {
    const same = stored?.find((each) => each.name === name);
    const note = JSON.stringify(groups);
    if (!same) rows.push({ what: 'profile', name, verdict: 'move', note });
    else if (givesSame(same, { groups })) {
      rows.push({ what: 'profile', name, verdict: 'present', note: same.uuid });
    } else refuse(name, `a profile of this name with other groups exists: ${same.uuid}`);
    return !same;
  });
  return { rows, profiles: missing };
}

function makeSettings(
  allowList: readonly AllowListItem[],
  pools: readonly MdevPool[],
): HostSettings | undefined {
  const drivers = [...(allowList.length > 0 ? ['pci'] : []), ...(pools.length > 0 ? ['mdev'] : [])];
  if (drivers.length === 0) return undefined;
  return {
    drivers,
    ...(allowList.length > 0 && { pci: { allow_list: allowList } }),
    ...(pools.length > 0 && { mdev: { pools }, attach_types: ['PCI', 'MDEV'] }),
  };
}

/** Checked by the agent's own rules, with values for the settings that enrolment adds. */
function faultsOfSettings(settings: HostSettings | undefined): NovaRow[] {
  if (settings === undefined) return [];
  const added = { stage: 'any', endpoint: 'any', certificate: '/any', key: '/any' };
  try {
    loadConfig({
      environment: {},
      hostname: 'any',
      isReadable: () => true,
      file: JSON.stringify({ ...added, ...settings }),
    });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return [{ what: 'settings', name: 'settings', verdict: 'refuse', note: error.message }];
  }
}
