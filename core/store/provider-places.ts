// The devices behind resource providers, for those who ask where a claim is.

import type { Deployable, Device } from '../domain/device.ts';
import type { ProviderUuid } from '../domain/ids.ts';
import type { Documents } from './documents.ts';
import { deployableOf, deviceOf } from './inventory-rows.ts';
import { getRows } from './reads.ts';
import { deployableKey, deviceKey } from './rows.ts';

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
      const deployables = (await getRows(client, table, keys)).map(deployableOf);
      const places = new Map(
        deployables.map(({ hostname, deviceUuid }) => [
          deviceUuid,
          deviceKey(hostname, deviceUuid),
        ]),
      );
      const rows = (await getRows(client, table, [...places.values()])).map(deviceOf);
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
