// The life of a device profile: its revisions, who sees it, and whether it takes new requests. An
// ARQ has a copy of its group and its revision, so no change touches ARQs that exist.

import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '#core/domain/caller.ts';
import type { ChangeNote } from '#core/domain/change-note.ts';
import { DeviceProfileDisabled, DeviceProfileNotFound, InvalidInput } from '#core/domain/errors.ts';
import { isAllowed, type PolicyOverrides } from '#core/domain/policy.ts';
import { hasRole } from '#core/domain/roles.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Groups } from './alternatives.ts';
import {
  checkProfileName,
  type DeviceProfile,
  type Group,
  groupResources,
} from './device-profile.ts';

/** What a change may replace. A field that is undefined is removed. */
export interface ProfileContent {
  readonly name: string;
  readonly description: string | undefined;
  readonly groups: Groups;
  readonly alternatives: readonly Groups[] | undefined;
  readonly projects: readonly string[] | undefined;
  readonly disabled: DeviceProfile['disabled'] | undefined;
}

const formerNamesMax = 8;
export const projectsMax = 100;

/**
 * The next revision; undefined if the content is that of the profile.
 *
 * @throws InvalidInput
 */
export function nextRevision(
  profile: DeviceProfile,
  content: ProfileContent,
  { at, by, requestId }: ChangeNote,
): DeviceProfile | undefined {
  const { name, description, groups, alternatives, projects, disabled } = content;
  const { uuid, microversion, createdAt, createdBy, requestId: createdIn } = profile;
  const changed = { name, groups, ...present({ description, alternatives, projects, disabled }) };
  const current = toContent(profile);
  if (isDeepStrictEqual(present({ ...current }), changed)) return undefined;
  if (projects && (projects.length === 0 || projects.length > projectsMax)) {
    throw new InvalidInput(`projects must name 1 to ${projectsMax} projects, or be null for all.`);
  }
  const amountsChangedAt = asksSame(profile.groups, groups) ? profile.amountsChangedAt : at;
  return {
    uuid,
    ...changed,
    ...formerNames(profile, name),
    revision: profile.revision + 1,
    microversion,
    ...present({ amountsChangedAt, createdBy, requestId: createdIn }),
    createdAt,
    updatedAt: at,
    updatedBy: by,
    ...present({ updateRequestId: requestId }),
  };
}

export function toContent(profile: DeviceProfile): ProfileContent {
  const { name, description, groups, alternatives, projects, disabled } = profile;
  return { name, description, groups, alternatives, projects, disabled };
}

function formerNames(profile: DeviceProfile, name: string): Pick<DeviceProfile, 'formerNames'> {
  const { formerNames: former = [] } = profile;
  const isRenamed = name !== profile.name;
  if (isRenamed) checkProfileName(name);
  const names = isRenamed ? [...former.filter((each) => each !== name), profile.name] : former;
  if (names.length > formerNamesMax) {
    throw new InvalidInput(
      `Device profile ${profile.name} already has ${formerNamesMax} former names, the maximum: ${former.join(', ')}. It may take one of them back.`,
    );
  }
  return names.length > 0 ? { formerNames: names } : {};
}

/** Whether each group asks Placement for the same resources. Its alternatives have its amounts. */
function asksSame(before: Groups, after: Groups): boolean {
  return isDeepStrictEqual(before.map(groupResources), after.map(groupResources));
}

/**
 * How long after a change of amounts Nova may schedule a server by the earlier ones: it reads the
 * groups before it schedules, and creates the ARQs after that.
 */
const schedulingMs = 10 * 60 * 1000;

/** Whether ARQs of now may be of a server that was scheduled by other amounts. */
export function mayBeScheduledOtherwise(
  { amountsChangedAt }: DeviceProfile,
  nowMs: number,
): boolean {
  return amountsChangedAt !== undefined && nowMs - Date.parse(amountsChangedAt) < schedulingMs;
}

export function isVisibleTo(
  caller: Pick<Caller, 'projectId' | 'roles'>,
  { projects }: Pick<DeviceProfile, 'projects'>,
  overrides: PolicyOverrides,
): boolean {
  return !projects || projects.includes(caller.projectId) || seesAllProfiles(caller, overrides);
}

/** A service that acts alone acts for the projects of its servers. */
export function seesAllProfiles(
  caller: Pick<Caller, 'roles'>,
  overrides: PolicyOverrides,
): boolean {
  return (
    hasRole(caller.roles, ['service']) ||
    isAllowed('cyborg:operator:profile:get_all', caller, overrides)
  );
}

/** @throws DeviceProfileNotFound, DeviceProfileDisabled */
export function checkUsable(
  name: string,
  profile: DeviceProfile | undefined,
  caller: Caller,
  overrides: PolicyOverrides,
): asserts profile is DeviceProfile {
  if (!profile || !isVisibleTo(caller, profile, overrides)) throw new DeviceProfileNotFound(name);
  if (profile.disabled) throw new DeviceProfileDisabled(profile.name, profile.disabled.reason);
}

/** What a revision changed, as the history has it: `name a → b; disabled: worn out`. */
export function describeChange(before: DeviceProfile, after: DeviceProfile): string {
  return [
    ...(before.name === after.name ? [] : [`name ${before.name} → ${after.name}`]),
    ...(isDeepStrictEqual(before.groups, after.groups)
      ? []
      : [describeGroups(before.groups, after.groups)]),
    ...(isDeepStrictEqual(before.alternatives, after.alternatives)
      ? []
      : [
          `alternatives ${describeLists(before.alternatives)} → ${describeLists(after.alternatives)}`,
        ]),
    ...(before.description === after.description ? [] : ['description']),
    ...(isDeepStrictEqual(before.projects, after.projects)
      ? []
      : [`visible to ${after.projects?.join(', ') ?? 'all projects'}`]),
    ...(isDeepStrictEqual(before.disabled, after.disabled)
      ? []
      : [after.disabled ? `disabled: ${after.disabled.reason}` : 'enabled']),
  ].join('; ');
}

/** In their order, as the history has them: `PGPU, or FPGA and trait:CUSTOM_A`. */
function describeLists(lists: readonly Groups[] = []): string {
  const texts = lists.map((groups) => groups.flatMap(Object.entries).map(shownEntry).join(' and '));
  return texts.join(', or ') || 'none';
}

/** The keys that differ, as the history has them: `trait:CUSTOM_A → trait:CUSTOM_B`. */
function describeGroups(before: readonly Group[], after: readonly Group[]): string {
  const distinct = (groups: readonly Group[]) =>
    [...new Set(groups.flatMap((group) => Object.entries(group).map(shownEntry)))].sort();
  const [had, has] = [distinct(before), distinct(after)];
  const gone = had.filter((entry) => !has.includes(entry));
  const added = has.filter((entry) => !had.includes(entry));
  if (gone.length + added.length === 0) return 'order or number of groups';
  return `${gone.join(', ')} → ${added.join(', ')}`.trim();
}

/** A required trait and one accelerator are shown by their keys alone. */
function shownEntry([key, value]: readonly [string, string]): string {
  return value === 'required' || (value === '1' && key.startsWith('resources:'))
    ? key
    : `${key}=${value}`;
}
