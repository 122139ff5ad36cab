import type { ImportedDevice, ImportedServer } from '#core/domain/arq/imports.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import type { ImportStore } from '#core/store/arqs/imports.ts';
import { type ImportDeps, importDevice } from './import-device.ts';
import { importProfile } from './import-profile.ts';
import type { Imported } from './import-refused.ts';
import { importServer } from './import-server.ts';

interface Imports {
  readonly profiles: readonly DeviceProfile[];
  readonly devices: readonly ImportedDevice[];
  readonly servers: readonly ImportedServer[];
}

/**
 * Stores profiles, then devices, then servers. It may die at any step: a repetition goes on, and
 * no handle can be claimed by others meanwhile.
 *
 * @throws ImportRefused
 */
export async function importAll(
  deps: ImportDeps & { readonly imports: ImportStore },
  { profiles, devices, servers }: Imports,
): Promise<Readonly<Record<Imported, number>>> {
  const counts = { imported: 0, present: 0 };
  const note = (done: Imported) => {
    counts[done] += 1;
  };
  for (const profile of profiles) note(await importProfile(deps, profile));
  for (const device of devices) note(await importDevice(deps, device));
  for (const server of servers) note(await importServer(deps, server));
  return counts;
}
