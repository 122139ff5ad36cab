// Whether the catalog leaves a choice of regions, which the settings must make.

import { SeveralRegions } from '#core/clients/openstack/keystone/own-token.ts';
import type { ServiceIdentity } from '#core/clients/openstack/service-calls.ts';
import { CheckFailed } from './checks.ts';

/** The services that the deployment calls. */
const serviceTypes = ['placement', 'compute', 'image'];

/** @throws CheckFailed naming the regions of the first service that is in several */
export async function refuseSeveralRegions(keystone: ServiceIdentity): Promise<void> {
  for (const type of serviceTypes) {
    try {
      await keystone.endpoint(type);
    } catch (error) {
      if (!(error instanceof SeveralRegions)) continue;
      const regions = error.regions.join(', ');
      throw new CheckFailed(
        `The catalog has ${type} in several regions: ${regions}.`,
        `Set regionName to one of ${regions}.`,
      );
    }
  }
}
