import type { Deps } from '#core/deps.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { nextRevision, toContent } from '#core/domain/profile/profile-changes.ts';
import {
  type Migration,
  planMigration,
  type Rename,
} from '#core/domain/profile/profile-renames.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { present } from '#core/shapes/derive/present.ts';

/** The most rows that one page of a listing has. */
const pageSize = 1000;

/** @throws InvalidInput where a rename would make a profile wrong; nothing is written here */
export async function planRenames(
  deps: Pick<Deps, 'listings' | 'store'>,
  renames: readonly Rename[],
): Promise<readonly Migration[]> {
  if (renames.length === 0) throw new InvalidInput('There is nothing to rename.');
  return planMigration(await allProfiles(deps), renames);
}

/** The index may lag behind, so it gives the names only; a later run finds what it missed. */
export async function allProfiles({ listings, store }: Pick<Deps, 'listings' | 'store'>) {
  const profiles: DeviceProfile[] = [];
  let marker: string | undefined;
  do {
    const page = await listings.profiles({
      limit: pageSize,
      sortKey: 'created_at',
      sortDir: 'asc',
      ...present({ marker }),
    });
    profiles.push(...(await store.profiles.byNames(page.map(({ name }) => name))));
    marker = page.length === pageSize ? page.at(-1)?.uuid : undefined;
  } while (marker !== undefined);
  return profiles;
}

/**
 * Writes the new groups of one profile. ARQs have copies of their groups, so servers that run are
 * not touched. May run twice and may end between two profiles: a profile that has its new names
 * is in no later plan.
 *
 * @returns false if the profile was changed or deleted after the plan; then it is not written
 */
export async function renameInProfile(
  deps: Deps,
  { profile, groups, alternatives }: Migration,
): Promise<boolean> {
  const content = { ...toContent(profile), groups, alternatives };
  const next = nextRevision(profile, content, makeChangeNote(deps));
  return !next || (await deps.store.profiles.update(profile, next)) === 'updated';
}
