// New names of traits and resource classes in stored device profiles: a release may rename what
// hosts offer. Pure; the profiles and the wanted names come in.

import { InvalidInput } from '#core/domain/errors.ts';
import {
  isOfferedClass,
  placementNameLengthMax,
  standardClasses,
} from '#core/shapes/vocabulary/placement-names.ts';
import { accelValue } from './accel-values.ts';
import { canonicalLists, type Groups, withoutPreferred } from './alternatives.ts';
import { arqCount, type DeviceProfile, type Group } from './device-profile.ts';

/** Keys of groups, such as `trait:CUSTOM_OLD`. */
export interface Rename {
  readonly from: string;
  /** Undefined to drop the trait. */
  readonly to: string | undefined;
  /** The value of an `accel:` key that a required trait replaces. */
  readonly value?: string;
}

/**
 * What releases have renamed. Empty: each spelling of a trait that was ever reported is reported
 * still, so profiles may have either.
 */
export const renamesOfReleases: readonly Rename[] = [];

interface ChangedKey extends Pick<Rename, 'from' | 'to'> {
  /** Index of the group in the profile, or in one of its alternatives. */
  readonly group: number;
  readonly alternative?: number;
}

export interface Migration {
  readonly profile: DeviceProfile;
  readonly groups: Groups;
  readonly alternatives: readonly Groups[] | undefined;
  readonly changes: readonly ChangedKey[];
}

const customName = /^CUSTOM_[A-Z0-9_]+$/;
// A custom trait may become a standard one. Standard traits of accelerators are below HW_.
const newTrait = /^(CUSTOM|HW)_[A-Z0-9_]+$/;
const form =
  'trait:CUSTOM_OLD=CUSTOM_NEW, resources:CUSTOM_OLD=CUSTOM_NEW or accel:KEY:VALUE=TRAIT';

/** @param text `trait:OLD`, which no group is to have. @throws InvalidInput */
export function readDrop(text: string): Rename {
  const [, name = ''] = /^trait:([^=:]+)$/.exec(text) ?? [];
  if (!isName(name, customName)) {
    throw new InvalidInput(
      `Drop ${text} must be trait:CUSTOM_OLD: only custom traits are dropped.`,
    );
  }
  return { from: text, to: undefined };
}

/**
 * @param text `trait:OLD=NEW`, `resources:OLD=NEW`, or `accel:KEY:VALUE=TRAIT` for a property that
 *   has become a trait
 * @throws InvalidInput
 */
export function readRename(text: string): Rename {
  const [, key, value, trait] = /^accel:([^:=]+):([^=]+)=([^=]+)$/.exec(text) ?? [];
  if (key !== undefined && value !== undefined && trait !== undefined) {
    accelValue(key, value, `Rename ${text}`);
    if (isName(trait, newTrait)) return { from: `accel:${key}`, to: `trait:${trait}`, value };
    throw new InvalidInput(`Rename ${text}: trait ${trait} must be CUSTOM_* or HW_*.`);
  }
  const [, prefix = '', from = '', to = ''] =
    /^(trait|resources):([^=]+)=([^=]+)$/.exec(text) ?? [];
  if (prefix === '') throw new InvalidInput(`Rename ${text} must be ${form}.`);
  if (!isName(from, customName)) {
    throw new InvalidInput(
      `Rename ${text}: ${from} is not CUSTOM_*; names of other services cannot be renamed.`,
    );
  }
  if (prefix === 'resources' && !isOfferedClass(to)) {
    throw new InvalidInput(
      `Rename ${text}: unknown resource class ${to}; it must be one of ${standardClasses.join(', ')} or CUSTOM_*.`,
    );
  }
  if (prefix === 'trait' && !isName(to, newTrait)) {
    throw new InvalidInput(`Rename ${text}: trait ${to} must be CUSTOM_* or HW_*.`);
  }
  return { from: `${prefix}:${from}`, to: `${prefix}:${to}` };
}

function isName(name: string, pattern: RegExp): boolean {
  return pattern.test(name) && name.length <= placementNameLengthMax;
}

/**
 * A name that is old in one rename and new in another would give another result in a second run.
 *
 * @throws InvalidInput
 */
function checkRenames(renames: readonly Rename[]): void {
  const old = renames.map(describeOld);
  const twice = old.find((name, index) => old.indexOf(name) !== index);
  if (twice !== undefined) throw new InvalidInput(`Duplicate rename of ${twice}.`);
  const chained = renames.find(({ to }) => to !== undefined && old.includes(to));
  if (chained) {
    throw new InvalidInput(
      `${chained.to} is the new name of ${chained.from} and is renamed itself: name the last one only.`,
    );
  }
}

function describeOld({ from, value }: Rename): string {
  return value === undefined ? from : `${from}=${value}`;
}

/**
 * The profiles that change, each with its new groups.
 *
 * @throws InvalidInput naming the profile and group that a rename would make wrong
 */
export function planMigration(
  profiles: readonly DeviceProfile[],
  renames: readonly Rename[],
): readonly Migration[] {
  checkRenames(renames);
  return profiles.flatMap((profile) => {
    const { name, alternatives } = profile;
    const changes = [
      ...changesOf(profile.groups, renames),
      ...(alternatives ?? []).flatMap((groups, alternative) =>
        changesOf(groups, renames).map((change) => ({ ...change, alternative })),
      ),
    ];
    if (changes.length === 0) return [];
    const groups = renamedAll(profile.groups, renames, `${name}: groups`);
    const others = alternatives?.map((each, index) =>
      renamedAll(each, renames, `${name}: alternatives[${index}]`),
    );
    checkGroups(name, groups, others);
    return [{ profile, groups, alternatives: others, changes }];
  });
}

function changesOf(groups: Groups, renames: readonly Rename[]): ChangedKey[] {
  return groups.flatMap((group, index) =>
    Object.entries(group).flatMap((entry) => {
      const rename = renames.find((each) => isFor(each, entry));
      return rename ? [{ group: index, from: describeOld(rename), to: rename.to }] : [];
    }),
  );
}

function renamedAll(groups: Groups, renames: readonly Rename[], where: string): Groups {
  return groups.map((group, index) => renamed(group, renames, `${where}[${index}]`));
}

/** A trait that is preferred has the name of one that is required. */
function isFor({ from, value: old }: Rename, [key, value]: readonly [string, string]): boolean {
  return withoutPreferred(key) === from && (old === undefined || old === value);
}

function renamed(group: Group, renames: readonly Rename[], where: string): Group {
  const entries = Object.entries(group).flatMap((entry): (readonly [string, string])[] => {
    const rename = renames.find((each) => isFor(each, entry));
    if (!rename) return [entry];
    if (rename.to === undefined) return [];
    const prefix = entry[0].slice(0, -withoutPreferred(entry[0]).length);
    return [[`${prefix}${rename.to}`, rename.value === undefined ? entry[1] : 'required']];
  });
  const result: Record<string, string> = {};
  for (const [key, value] of entries) {
    const other = result[key];
    // Two traits that have become one are one; amounts would have to be added.
    const isSame = other === value && !key.startsWith('resources:');
    if (other !== undefined && !isSame) {
      throw new InvalidInput(
        `${where} would have ${key} as ${other} and as ${value}: change the group, or drop one trait by --drop.`,
      );
    }
    result[key] = value;
  }
  // The trait of a Xilinx card and the class FPGA decide how many accelerators a group means.
  if (arqCount(result) !== arqCount(group)) {
    throw new InvalidInput(
      `${where} would ask for ${arqCount(result)} accelerators instead of ${arqCount(group)}: make a new profile instead.`,
    );
  }
  return result;
}

function checkGroups(name: string, groups: Groups, alternatives: readonly Groups[] = []): void {
  try {
    canonicalLists(groups, alternatives);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(`${name}: ${error.message}`);
  }
}
