// The devices behind resource providers, for those who ask where a claim is.

import type { Deployable, Device } from '#core/domain/device/device.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { toDeployable, toDevice } from '#core/store/rows/inventory-rows.ts';
import { deployableKey, deviceKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRows } from '#core/store/table/reads.ts';

export interface ProviderPlace {
  readonly deployable: Deployable;
  readonly device: Device;
}

export interface ProviderPlaces {
  /** Those that exist, without their handles. */
  placesOf(providers: readonly ProviderUuid[]): Promise<Map<ProviderUuid, ProviderPlace>>;
}

export function providerPlaces(client: Documents, table: string): ProviderPlaces {
  return {
    async placesOf(providers) {
      const keys = [...new Set(providers)].map((uuid) => deployableKey(uuid));
      const deployables = (await getRows(client, table, keys)).map(toDeployable);
      const places = new Map(
        deployables.map(({ hostname, deviceUuid }) => [
          deviceUuid,
          deviceKey(hostname, deviceUuid),
        ]),
      );
      const rows = (await getRows(client, table, [...places.values()])).map(toDevice);
      const devices = new Map(rows.map((device) => [device.uuid, device]));
      return new Map(
        deployables.flatMap((deployable) => {
          const device = devices.get(deployable.deviceUuid);
          return device ? [[deployable.providerUuid, { deployable, device }] as const] : [];
        }),
      );
    },
  };
}
