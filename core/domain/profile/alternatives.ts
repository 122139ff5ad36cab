// Alternatives of a device profile: lists of groups in order of preference. Nova gets one of them
// at each boot, and later names the profile only, so all lists have one shape: whichever Nova was
// given, an ARQ of group 1 is for the provider of group 1.

import { isDeepStrictEqual } from 'node:util';
import { InvalidInput } from '#core/domain/errors.ts';
import {
  arqCount,
  canonicalGroups,
  type DeviceProfile,
  type Group,
  groupResources,
  groupsBytesMax,
} from './device-profile.ts';

/** The groups of one server. */
export type Groups = readonly Group[];

type WrittenGroups = Pick<DeviceProfile, 'groups' | 'alternatives'>;
type GivenGroups = readonly Readonly<Record<string, string | number>>[];

/** Bounds the calls to Placement for one profile, and the size of an ARQ. */
const listsMax = 8;

/** A transaction of DynamoDB takes 4 MB. */
const storedBytesMax = 2_000_000;

const preferredPrefix = 'accel:preferred:';

/** The lists of groups from which a server gets one, the best first. */
export function groupLists({ groups, alternatives = [] }: WrittenGroups): readonly Groups[] {
  return [groups, ...alternatives].flatMap(withPreferred);
}

/** Whether Nova can be given different groups. */
export function hasAlternatives(profile: WrittenGroups): boolean {
  return groupLists(profile).length > 1;
}

/** Whether servers get the same of both. */
export function givesSame(one: WrittenGroups, other: WrittenGroups): boolean {
  return isDeepStrictEqual(groupLists(one), groupLists(other));
}

/** The indexes of the lists that ask for a class of that list, itself included. */
export function competingWith(lists: readonly Groups[], index: number): readonly number[] {
  const classes = lists.map((groups) =>
    groups.flatMap((group) => Object.keys(groupResources(group))),
  );
  return [...lists.keys()].filter((each) =>
    classes[each]?.some((name) => classes[index]?.includes(name)),
  );
}

/** With all that the groups prefer, and without. */
function withPreferred(groups: Groups): readonly Groups[] {
  if (!groups.some((group) => Object.keys(group).some(isPreferred))) return [groups];
  return [
    groups.map((group) => preferring(group, true)),
    groups.map((group) => preferring(group, false)),
  ];
}

function isPreferred(key: string): boolean {
  return key.startsWith(preferredPrefix);
}

/** `trait:NAME` of `accel:preferred:trait:NAME`; other keys as they are. */
export function withoutPreferred(key: string): string {
  return isPreferred(key) ? key.slice(preferredPrefix.length) : key;
}

function preferring(group: Group, isGiven: boolean): Group {
  const entries = Object.entries(group).flatMap(([key, value]): [string, string][] => {
    if (!isPreferred(key)) return [[key, value]];
    return isGiven ? [[withoutPreferred(key), value]] : [];
  });
  return Object.fromEntries(entries);
}

/**
 * Both in canonical form.
 *
 * @throws InvalidInput naming the list, group and key that is wrong
 */
export function canonicalLists(
  groups: GivenGroups,
  alternatives: readonly GivenGroups[],
): WrittenGroups {
  const first = canonicalGroups(groups);
  const others = alternatives.map((list, index) =>
    within(`alternatives[${index}]`, () => canonicalGroups(list)),
  );
  const written: WrittenGroups = {
    groups: first,
    ...(others.length > 0 && { alternatives: others }),
  };
  const lists = groupLists(written);
  if (lists.length > listsMax) {
    throw new InvalidInput(
      `The profile has ${lists.length} alternatives; at most ${listsMax} are allowed, and preferred traits make two of one.`,
    );
  }
  if (JSON.stringify(lists).length > groupsBytesMax) {
    throw new InvalidInput(`All alternatives together are larger than ${groupsBytesMax} bytes.`);
  }
  // Each ARQ has its group in all lists, and those of one request are one transaction.
  const stored = first.reduce((sum, group, index) => {
    const ofGroup = lists.map((list) => list[index]);
    return sum + arqCount(group) * JSON.stringify(ofGroup).length;
  }, 0);
  if (lists.length > 1 && stored > storedBytesMax) {
    throw new InvalidInput(
      `The accelerator requests of the profile take ${stored} bytes with all alternatives; at most ${storedBytesMax} are allowed.`,
    );
  }
  for (const [index, list] of others.entries()) checkShape(first, list, `alternatives[${index}]`);
  return written;
}

/** The sentences of canonicalGroups begin with the group. */
function within<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof InvalidInput ? new InvalidInput(`${where}: ${error.message}`) : error;
  }
}

function checkShape(first: Groups, list: Groups, where: string): void {
  if (list.length !== first.length) {
    throw new InvalidInput(
      `${where} has ${countOf(list.length, 'group')}, and groups has ${first.length}: alternatives have as many.`,
    );
  }
  for (const [index, group] of list.entries()) {
    const other = first[index] as Group;
    if (isDeepStrictEqual(shapeOf(group), shapeOf(other))) continue;
    throw new InvalidInput(
      `${where}, group ${index} asks for ${describeShape(group)}, and groups[${index}] for ${describeShape(other)}: alternatives ask for as many units.`,
    );
  }
}

/** Two groups of one shape and one class ask Placement for the same amount. */
function shapeOf(group: Group): readonly number[] {
  const amounts = Object.values(groupResources(group));
  return [arqCount(group), ...amounts.toSorted((one, other) => one - other)];
}

function describeShape(group: Group): string {
  const resources = Object.entries(groupResources(group));
  const amounts = resources.map(([name, amount]) => `${amount} ${name}`).join(' and ');
  return `${amounts} (${countOf(arqCount(group), 'accelerator request')})`;
}

function countOf(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
