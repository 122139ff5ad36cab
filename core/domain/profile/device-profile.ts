// Device profiles: named requests for accelerators, and the rules of their groups.

import { InvalidInput } from '#core/domain/errors.ts';
import { isSizeTrait, sameAmounts, sizeTrait } from '#core/domain/pool/pool-sizes.ts';
import type { SameLevel } from '#core/domain/pool/wholes.ts';
import { hasFormOfUuid, isUuid } from '#core/domain/uuid-form.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import type { profileDeletion, profileFields } from '#core/shapes/device-profile.ts';
import { isOfferedClass, standardClasses } from '#core/shapes/vocabulary/placement-names.ts';
import { accelValue } from './accel-values.ts';

/** Keys `resources:CLASS`, `trait:NAME`, `accel:KEY`; all values are text. */
export type Group = Readonly<Record<string, string>>;

export interface DeviceProfile extends Shaped<typeof profileFields> {
  /** In the order given; Nova names each request group by its index. */
  readonly groups: readonly Group[];
  /** Further lists of groups for the same number of units, in order of preference. */
  readonly alternatives?: readonly (readonly Group[])[];
}

export type ProfileDeletion = Shaped<typeof profileDeletion>;

/** Keeps a bind within one DynamoDB transaction: at most 3 rows per ARQ, of 100. */
export const acceleratorsPerProfileMax = 32;

/** A card with this trait is one unit of inventory with two functions. */
const xilinxTrait = 'CUSTOM_FPGA_XILINX';

const traitName = /^[A-Z][A-Z0-9_]*$/;
/** Those of os-traits, and that of traits that operators make. Placement refuses other names. */
const traitNamespaces = ['CUSTOM_', 'HW_', 'COMPUTE_', 'MISC_', 'OWNER_', 'STORAGE_'];
const nameLengthMax = 255;
export const profileNameMax = nameLengthMax;
export const profileNamePattern = /^[a-zA-Z0-9_-]+$/;
export const groupKeysMax = 64;
/** The groups are ASCII text. A row of DynamoDB can have 400 KB. */
export const groupsBytesMax = 300_000;

/** The accel: keys that name an image. */
const imageKeys = ['bitstream_id', 'bitstream_name', 'function_id', 'function_name'] as const;

/** The image that the FPGA must hold before an instance gets it. */
export interface ImageQuery {
  readonly by: (typeof imageKeys)[number];
  readonly value: string;
}

/** Whether the name is valid for a profile. */
export function isProfileName(name: string): boolean {
  return profileNamePattern.test(name) && !name.endsWith('\n') && name.length <= nameLengthMax;
}

/** @throws InvalidInput unless the name can be a profile's. */
export function checkProfileName(name: string): void {
  if (hasFormOfUuid(name)) {
    throw new InvalidInput(
      `Device profile name ${name} may not have the form of a uuid: where a uuid or a name is taken, it would stand for another profile.`,
    );
  }
  if (!profileNamePattern.test(name) || name.endsWith('\n')) {
    throw new InvalidInput(
      `Device profile name ${JSON.stringify(name)} may hold letters, digits, '-' and '_' only.`,
    );
  }
  if (name.length > nameLengthMax) {
    throw new InvalidInput(`Device profile name is longer than ${nameLengthMax} characters.`);
  }
}

/** @throws InvalidInput unless the text is a uuid. */
export function checkProfileUuid(uuid: string): void {
  if (!isUuid(uuid)) throw new InvalidInput(`Device profile uuid ${uuid} is not a uuid.`);
}

/**
 * The groups in canonical form: names of classes and traits in upper case with underscores.
 *
 * @throws InvalidInput naming the group and key that is wrong, also where the group is well formed
 *   but could never be scheduled.
 */
export function canonicalGroups(
  groups: readonly Readonly<Record<string, string | number>>[],
): Group[] {
  if (groups.length === 0) throw new InvalidInput('A device profile needs at least one group.');
  const canonical = groups.map((group, index) => canonicalGroup(group, `groups[${index}]`));
  const accelerators = canonical.reduce((sum, group) => sum + arqCount(group), 0);
  if (accelerators > acceleratorsPerProfileMax) {
    throw new InvalidInput(
      `The groups ask for ${accelerators} accelerators; a device profile may ask for ${acceleratorsPerProfileMax}.`,
    );
  }
  const bytes = JSON.stringify(canonical).length;
  if (bytes > groupsBytesMax) {
    throw new InvalidInput(
      `The groups take ${bytes} bytes, and are larger than ${groupsBytesMax}.`,
    );
  }
  return canonical;
}

function canonicalGroup(group: Readonly<Record<string, string | number>>, where: string): Group {
  const entries = Object.entries(group);
  if (entries.length > groupKeysMax) {
    throw new InvalidInput(`${where} has more than ${groupKeysMax} keys.`);
  }
  const canonical = new Map<string, string>();
  for (const [key, value] of entries) {
    const [name, text] = canonicalEntry(key, String(value), `${where}[${JSON.stringify(key)}]`);
    if (canonical.has(name)) throw new InvalidInput(`${where}: duplicate key ${name}.`);
    canonical.set(name, text);
  }
  const result = Object.fromEntries(canonical);
  if (![...canonical.keys()].some((key) => key.startsWith('resources:'))) {
    throw new InvalidInput(`${where} asks for no resource: it could never be scheduled.`);
  }
  const both = [...canonical.keys()].find((key) => canonical.has(`accel:preferred:${key}`));
  if (both) throw new InvalidInput(`${where} both states and prefers ${both}.`);
  const images = imageKeys.filter((key) => canonical.has(`accel:${key}`));
  if (images.length > 1) {
    throw new InvalidInput(`${where} names ${images.join(' and ')}; at most one is allowed.`);
  }
  return withSizeTrait(result, where);
}

/** Placement gives the group only to a pool that has its amount together. */
function withSizeTrait(group: Group, where: string): Group {
  const same = sameLevelOf(group);
  if (!same) return group;
  const amounts = Object.values(groupResources(group));
  const [amount] = amounts;
  if (amount === undefined || amounts.length > 1 || !sameAmounts.includes(amount)) {
    throw new InvalidInput(
      `${where}: with accel:same a group asks for one class, in an amount of ${sameAmounts.join(', ')}.`,
    );
  }
  // That of an earlier amount comes back with the groups that a client has read.
  const others = Object.entries(group).filter(([key]) => !isSizeTrait(key.replace('trait:', '')));
  return Object.fromEntries([...others, [`trait:${sizeTrait(same, amount)}`, 'required']]);
}

function canonicalEntry(key: string, value: string, where: string): [key: string, value: string] {
  const [prefix, ...rest] = key.split(':');
  const name = rest.join(':').trim();
  switch (prefix) {
    case 'resources':
      return [`resources:${canonicalClass(name, where)}`, canonicalAmount(value, where)];
    case 'trait':
      return [`trait:${canonicalTrait(name, where)}`, traitRequirement(value, where)];
    case 'accel':
      if (rest[0] === 'preferred') return preferredTrait(rest.slice(1), value, where);
      return [`accel:${name}`, accelValue(name, value, where)];
    default:
      throw new InvalidInput(`${where}: keys begin with 'resources:', 'trait:' or 'accel:'.`);
  }
}

/** `accel:preferred:trait:NAME`: the trait is required, or forbidden, where that can be had. */
function preferredTrait(
  [kind, ...rest]: readonly string[],
  value: string,
  where: string,
): [key: string, value: string] {
  if (kind !== 'trait') {
    throw new InvalidInput(
      `${where}: only a trait can be preferred, as accel:preferred:trait:NAME.`,
    );
  }
  const name = canonicalTrait(rest.join(':').trim(), where);
  if (name === xilinxTrait) {
    throw new InvalidInput(`${where}: ${name} decides how many accelerators there are.`);
  }
  return [`accel:preferred:trait:${name}`, traitRequirement(value, where)];
}

function toPlacementName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

/** @throws InvalidInput unless hosts can offer such a class */
export function canonicalClass(name: string, where: string): string {
  const canonical = toPlacementName(name);
  if (!isOfferedClass(canonical)) {
    throw new InvalidInput(
      `${where}: resource class ${name} is neither one of ${standardClasses.join(', ')} nor CUSTOM_*.`,
    );
  }
  return canonical;
}

function canonicalAmount(value: string, where: string): string {
  if (!/^[0-9]{1,9}$/.test(value) || Number(value) < 1) {
    throw new InvalidInput(`${where}: amount ${JSON.stringify(value)} is not a positive integer.`);
  }
  return String(Number(value));
}

function canonicalTrait(name: string, where: string): string {
  const canonical = toPlacementName(name);
  if (!traitName.test(canonical) || canonical.length > nameLengthMax) {
    throw new InvalidInput(`${where}: trait ${JSON.stringify(name)} is not a trait name.`);
  }
  if (!traitNamespaces.some((each) => canonical.startsWith(each))) {
    const allowed = traitNamespaces.join('*, ');
    throw new InvalidInput(
      `${where}: no provider can have trait ${canonical}; names begin with ${allowed}*.`,
    );
  }
  return canonical;
}

function traitRequirement(value: string, where: string): string {
  if (value !== 'required' && value !== 'forbidden') {
    throw new InvalidInput(`${where}: a trait is 'required' or 'forbidden'.`);
  }
  return value;
}

/** Resources that the group requests from Placement, e.g. `{ FPGA: 2 }`. */
export function groupResources(group: Group): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(group)
      .filter(([key]) => key.startsWith('resources:'))
      .map(([key, amount]) => [key.slice('resources:'.length), Number(amount)]),
  );
}

export function groupTraits(group: Group, requirement: 'required' | 'forbidden'): string[] {
  return Object.entries(group)
    .filter(([key, value]) => key.startsWith('trait:') && value === requirement)
    .map(([key]) => key.slice('trait:'.length));
}

/** The image or function that the group names; it names one at most. */
export function wantedImage(group: Group): ImageQuery | undefined {
  const by = imageKeys.find((key) => group[`accel:${key}`] !== undefined);
  return by && { by, value: group[`accel:${by}`] as string };
}

/** What all units of the group must have in common in their host. */
export function sameLevelOf(group: Group): SameLevel | undefined {
  return group['accel:same'] as SameLevel | undefined;
}

/** The target to which the group's accelerators are attached: `VM`, `host` or `none`. */
export function attachTarget(group: Group): string {
  return group['accel:attach_target'] ?? 'VM';
}

/** How many ARQs a group makes: one per accelerator, whatever its resource class. */
export function arqCount(group: Group): number {
  // Both functions must be attached.
  const perFpga = group[`trait:${xilinxTrait}`] === 'required' ? 2 : 1;
  return Object.entries(groupResources(group))
    .map(([resourceClass, amount]) => (resourceClass === 'FPGA' ? perFpga * amount : amount))
    .reduce((sum, count) => sum + count, 0);
}
