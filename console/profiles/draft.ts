// A device profile while it is typed, checked by the same rules as in the API.

import type { OperatorProfile } from '#console/api/answers.ts';
import { type ProfileBody, profileRequest } from '#core/contracts/api/profile-request.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { canonicalGroups, checkProfileName } from '#core/domain/profile/device-profile.ts';

/** A stored profile, of the revision that was read. */
export type EditedProfile = Pick<
  OperatorProfile,
  'uuid' | 'name' | 'description' | 'groups' | 'projects' | 'revision'
>;

export const entryKinds = ['resources', 'trait', 'accel'] as const;
export type EntryKind = (typeof entryKinds)[number];

/** `resources:FPGA` = `1` */
export interface Entry {
  readonly kind: EntryKind;
  readonly name: string;
  readonly value: string;
}

export interface Draft {
  readonly name: string;
  readonly description: string;
  readonly groups: readonly (readonly Entry[])[];
}

export const emptyDraft: Draft = {
  name: '',
  description: '',
  groups: [[{ kind: 'resources', name: '', value: '1' }]],
};

export function toDraft({ name, description, groups }: EditedProfile): Draft {
  return {
    name,
    description: description ?? '',
    groups: groups.map((group) => Object.entries(group).map(toEntry)),
  };
}

function toEntry([key, value]: readonly [string, string]): Entry {
  const [kind = '', ...name] = key.split(':');
  return { kind: kind as EntryKind, name: name.join(':'), value };
}

/** The first value of a new entry. */
export const firstValues: Readonly<Record<EntryKind, string>> = {
  resources: '1',
  trait: 'required',
  accel: '',
};

export function toRequest({ name, description, groups }: Draft): ProfileBody {
  return {
    name,
    ...(description.trim() !== '' && { description: description.trim() }),
    groups: groups.map((group) =>
      Object.fromEntries(group.map((entry) => [keyOf(entry), entry.value.trim()])),
    ),
  };
}

interface Problems {
  readonly name?: string;
  readonly description?: string;
  readonly groups?: string;
}

/** Sentences of the API's own rules; empty if the API would take the draft. */
export function checkDraft(draft: Draft): Problems {
  const name = catchRefusal(() => checkProfileName(draft.name));
  const groups =
    findDuplicate(draft) ?? catchRefusal(() => canonicalGroups(toRequest(draft).groups));
  const { error } = profileRequest.safeParse(toRequest(draft));
  const [issue] = error?.issues ?? [];
  const [field, ...place] = issue?.path ?? [];
  const where = place.length > 0 ? `${place.join('.')}: ` : '';
  const general = issue && `${where}${issue.message}.`;
  return {
    ...(draft.name === '' ? { name: 'A device profile needs a name.' } : name && { name }),
    ...(field === 'description' && general && { description: general }),
    ...(groups ? { groups } : field === 'groups' && general && { groups: general }),
  };
}

/** An object has each key once: the request would lose the others. */
function findDuplicate({ groups }: Draft): string | undefined {
  for (const [index, group] of groups.entries()) {
    const keys = group.map(keyOf);
    const duplicate = keys.find((key, at) => keys.indexOf(key) < at);
    if (duplicate !== undefined) return `groups[${index}]: duplicate key ${duplicate}.`;
  }
  return undefined;
}

function keyOf({ kind, name }: Entry): string {
  return `${kind}:${name.trim()}`;
}

function catchRefusal(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
}
