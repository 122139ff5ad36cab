// Cards of one host that are offered as a pool, and its driver. Two of them share an IOMMU group.

import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { described, pciHandles } from '#simulation/world/drivers/described.ts';
import type { MakeDriver } from '#simulation/world/host.ts';

const poolName = 'pool0';
const set = '0000:2d:01.0';
const localities = [{ numa: 0, set }, { numa: 0, set }, { numa: 1 }, { numa: 1 }];

export interface PoolUnits {
  /** What the agent reports of them. */
  readonly cards: NonNullable<ReportedDevice['unit_cards']>;
  /** The address of another card than was offered there, until an operator confirms it. */
  readonly unconfirmed?: string;
}

/** The host cleans each card after each holder. */
export const poolDriver: MakeDriver = (process, hardware, { timeline, faults }) => ({
  name: 'sim_pool',
  discover: () =>
    timeline.effect(process, 'device read', () => ({
      devices: {
        [poolName]: {
          ...described(poolName, 'sim_pool', 'GPU', '0x10de'),
          ...present({ unit_cards: hardware.units?.cards }),
          offers: {
            resource_class: 'PGPU',
            traits: ['CUSTOM_SIM_POOL'],
            attach_handles: pciHandles(localities.length, '2d', { more: 0, cleanSeconds: 60 }).map(
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
