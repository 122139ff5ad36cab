// Cards of one host that are offered as a pool, and its driver. Two of them share an IOMMU group.

import { described, pciHandles } from '#simulation/world/drivers/described.ts';
import type { MakeDriver } from '#simulation/world/host.ts';

const poolName = 'pool0';
const set = '0000:0d:01.0';
const localities = [{ numa: 0, set }, { numa: 0, set }, { numa: 1 }, { numa: 1 }];

/** The host cleans each card after each holder. */
export const poolDriver: MakeDriver = (process, hardware, { timeline, faults }) => ({
  name: 'sim_pool',
  discover: () =>
    timeline.effect(process, 'device read', () => ({
      devices: {
        [poolName]: {
          ...described(poolName, 'sim_pool', 'GPU', '0x10de'),
          offers: {
            resource_class: 'PGPU',
            traits: ['CUSTOM_SIM_POOL'],
            attach_handles: pciHandles(localities.length, '0d', { more: 0, cleanSeconds: 60 }).map(
              (handle, index) => ({ ...handle, locality: localities[index] ?? {} }),
            ),
          },
        },
      },
    })),
  clean: () =>
    timeline.effect(process, 'device erase', () => {
      if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
      return { erased: true };
    }),
});
