import type { Deps } from '#core/deps.ts';
import { givesSame } from '#core/domain/profile/alternatives.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { type Imported, ImportRefused } from './import-refused.ts';

/** Stores a profile of another service with its uuid. Repeatable. @throws ImportRefused */
export async function importProfile(deps: Deps, profile: DeviceProfile): Promise<Imported> {
  const outcome = await deps.store.profiles.create([profile]);
  if (outcome === 'created') return 'imported';
  const { name, uuid } = profile;
  const stored = await deps.store.profiles.byName(name);
  if (stored?.uuid === uuid && givesSame(stored, profile)) return 'present';
  throw new ImportRefused(
    `Device profile ${name} cannot be imported: its ${outcome.taken} is that of another profile here. Delete one of the two.`,
  );
}
