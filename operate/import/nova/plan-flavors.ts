// Which flavors get a device profile in place of Nova's extra specs, and which profiles those are.
// Pure.

import { isDeepStrictEqual } from 'node:util';
import { InvalidInput } from '#core/domain/errors.ts';
import { canonicalGroups, type Group, isProfileName } from '#core/domain/profile/device-profile.ts';
import { ownerTrait } from '#core/shapes/vocabulary/placement-names.ts';
import type { Flavor } from './flavors.ts';
import type { AliasPlan } from './plan-devices.ts';
import { type MdevPlan, mdevGroup } from './plan-mdevs.ts';

export interface NewProfile {
  readonly name: string;
  readonly groups: readonly Group[];
}

export type FlavorPlan = { readonly flavor: Flavor; readonly notes: readonly string[] } & (
  | { readonly verdict: 'stay' | 'refuse' }
  | {
      readonly verdict: 'move';
      /** Extra specs that go. */
      readonly gone: readonly string[];
      readonly profile: NewProfile;
    }
);

interface FlavorDeps {
  readonly aliases: readonly AliasPlan[];
  /** Names of aliases whose values are refused. */
  readonly faulty: ReadonlySet<string>;
  readonly mdevs: MdevPlan;
  /** A trait of Nova's providers of vGPUs → the type. */
  readonly mdevTraits: ReadonlyMap<string, string>;
}

const aliasKey = 'pci_passthrough:alias';
const numaKey = 'hw:pci_numa_affinity_policy';
const profileKey = 'accel:device_profile';

/** Undefined if the flavor asks for no PCI device by an alias, and for no vGPU. */
export function planFlavor(flavor: Flavor, deps: FlavorDeps): FlavorPlan | undefined {
  const { properties } = flavor;
  const aliases = properties[aliasKey];
  const mdevKeys = Object.keys(properties).filter((key) => isMdevKey(key, deps));
  if (aliases === undefined && mdevKeys.length === 0) return undefined;
  const end = (verdict: 'stay' | 'refuse', note: string): FlavorPlan => {
    return { flavor, verdict, notes: [note] };
  };
  if (properties[profileKey] !== undefined) {
    return end('refuse', `it has ${profileKey} already: ${properties[profileKey]}`);
  }
  const byAlias = aliases === undefined ? noParts : aliasParts(aliases, deps);
  if ('fault' in byAlias) return end('refuse', byAlias.fault);
  if ('reason' in byAlias) return end('stay', byAlias.reason);
  // Without an alias it is for Neutron's ports.
  const numa = aliases === undefined ? undefined : properties[numaKey];
  if (numa === 'required' || numa === 'socket') {
    return end('stay', `${numaKey}=${numa}: an accelerator request has no NUMA affinity`);
  }
  const byMdev = mdevParts(flavor, mdevKeys, deps);
  if ('reason' in byMdev) return end('stay', byMdev.reason);
  const parts = [...byAlias.parts, ...byMdev.parts];
  const profile = makeProfile(parts);
  if (typeof profile === 'string') return end('refuse', profile);
  const gone = [
    ...(aliases === undefined ? [] : [aliasKey]),
    ...(numa === undefined ? [] : [numaKey]),
    ...byMdev.gone,
  ];
  return { flavor, verdict: 'move', gone, profile, notes: byMdev.notes };
}

/** Part of a profile, and of its name. */
interface Part {
  readonly name: string;
  readonly groups: readonly Group[];
}

interface Parts {
  readonly parts: readonly Part[];
}

const noParts: Parts = { parts: [] };

/** `gpu:2,qat:1`. Each device is a group: those of one alias may be of several cards. */
function aliasParts(
  text: string,
  { aliases, faulty }: FlavorDeps,
): Parts | { readonly fault: string } | { readonly reason: string } {
  const parts: Part[] = [];
  const reasons: string[] = [];
  const companions: { readonly name: string; readonly count: number }[] = [];
  const counts = new Map<string, number>();
  for (const each of text.split(',')) {
    const [, name = '', count] = /^\s*([^:]+?)\s*:\s*([1-9][0-9]{0,2})\s*$/.exec(each) ?? [];
    if (count === undefined) return { fault: `${aliasKey} ${each} must be <alias>:<count>` };
    const plan = aliases.find((one) => one.name === name);
    if (faulty.has(name)) return { fault: `its alias ${name} is refused` };
    if (!plan) return { fault: `no alias ${name} in nova.conf` };
    if ('reason' in plan) reasons.push(`alias ${name} stays: ${plan.reason}`);
    else if ('cards' in plan) companions.push({ name, count: Number(count) });
    else {
      counts.set(name, (counts.get(name) ?? 0) + Number(count));
      const groups = Array.from({ length: Number(count) }, () => plan.group);
      parts.push({ name: nameOf(plan.as, Number(count)), groups });
    }
  }
  for (const { name, count } of companions) {
    const plan = aliases.find((one) => one.name === name);
    const cards = plan && 'cards' in plan ? plan.cards : [];
    const all = cards.reduce((sum, card) => sum + (counts.get(card) ?? 0), 0);
    if (count <= all) continue;
    reasons.push(`alias ${name} asks for ${count} functions that go with ${all} cards`);
  }
  const [reason] = reasons;
  return reason === undefined ? { parts } : { reason };
}

/** The name of a profile for a number of devices of an alias. */
export function nameOf(alias: string, count: number): string {
  const letters = alias.replaceAll(/[^a-zA-Z0-9_-]+/g, '-');
  return count === 1 ? letters : `${letters}-x${count}`;
}

const groupKey = /^(resources|trait)([a-zA-Z0-9_-]{0,64}):(.+)$/;

function isMdevKey(key: string, { mdevs }: FlavorDeps): boolean {
  const [, prefix, , name = ''] = groupKey.exec(key) ?? [];
  return prefix === 'resources' && (name === 'VGPU' || mdevs.classes.has(name));
}

function mdevParts(
  { properties }: Flavor,
  keys: readonly string[],
  { mdevs, mdevTraits }: FlavorDeps,
):
  | (Parts & { readonly gone: readonly string[]; readonly notes: readonly string[] })
  | { readonly reason: string } {
  const parts: Part[] = [];
  const gone: string[] = [];
  const notes: string[] = [];
  for (const key of keys) {
    const [, , suffix = '', resourceClass = ''] = groupKey.exec(key) ?? [];
    const pools = mdevs.pools.filter((pool) => pool.resource_class === resourceClass);
    if (pools.length === 0) return { reason: `${key}: no mdev type of that class moves` };
    const traitProperties = Object.entries(properties).filter(([each]) => {
      const [, prefix, of] = groupKey.exec(each) ?? [];
      return prefix === 'trait' && of === suffix;
    });
    const traits: string[] = [];
    gone.push(key);
    for (const [name, requirement] of traitProperties) {
      const trait = name.slice(name.indexOf(':') + 1);
      const type = mdevTraits.get(trait);
      if (
        type !== undefined &&
        pools.some((pool) => pool.type === type) &&
        requirement === 'required'
      ) {
        traits.push(trait);
        gone.push(name);
      } else if (trait === ownerTrait) {
        // It kept the flavor from our vGPUs.
        gone.push(name);
      } else if (suffix !== '' || type !== undefined) {
        return {
          reason: `${name}=${requirement}: name the type that has the trait by --mdev-trait`,
        };
      } else notes.push(`${name} stays`);
    }
    const amount = properties[key] ?? '';
    const name = [resourceClass.toLowerCase(), ...traits.map((each) => each.toLowerCase())];
    parts.push({
      name: nameOf(name.join('-'), Number(amount)),
      groups: [mdevGroup(resourceClass, amount, traits)],
    });
  }
  return { parts, gone: [...new Set(gone)], notes };
}

/** A sentence where the service takes no such profile. */
export function makeProfile(parts: readonly Part[]): NewProfile | string {
  const name = parts.map((each) => each.name).join('-');
  if (!isProfileName(name)) return `${name} cannot be the name of a device profile`;
  try {
    return { name, groups: canonicalGroups(parts.flatMap(({ groups }) => groups)) };
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
}

/** Each once. Two of one name and other groups are returned as a name. */
export function distinctProfiles(all: readonly NewProfile[]): {
  readonly profiles: readonly NewProfile[];
  readonly ambiguous: ReadonlySet<string>;
} {
  const profiles: NewProfile[] = [];
  const ambiguous = new Set<string>();
  for (const each of all) {
    const same = profiles.find(({ name }) => name === each.name);
    if (!same) profiles.push(each);
    else if (!isDeepStrictEqual(same.groups, each.groups)) ambiguous.add(each.name);
  }
  return { profiles: profiles.filter(({ name }) => !ambiguous.has(name)), ambiguous };
}

/** The properties of the copy. */
export function changedProperties(plan: Extract<FlavorPlan, { verdict: 'move' }>) {
  const kept = Object.entries(plan.flavor.properties).filter(([key]) => !plan.gone.includes(key));
  return { ...Object.fromEntries(kept), [profileKey]: plan.profile.name };
}
