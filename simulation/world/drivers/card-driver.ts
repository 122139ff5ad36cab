// A storage card with a serial number, which can move between hosts, and its driver.

import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { described, pciHandles } from '#simulation/world/drivers/described.ts';
import type { MakeDriver } from '#simulation/world/host.ts';

const cardAddress = '0000:0b:00.0';

/** What a server leaves on it moves with it. */
export interface Card {
  usedBy?: string | undefined;
  /** Another card than was offered in the slot, until an operator confirms it. */
  isUnconfirmed?: boolean;
  /** What its agent reports of it, if it names cards. */
  readonly reported?: Pick<ReportedDevice, 'identity' | 'product' | 'card'>;
}

export const cardDriver: MakeDriver = (process, hardware, { timeline, faults }) => ({
  name: 'sim_card',
  discover: () =>
    timeline.effect(process, 'device read', () => ({
      devices: hardware.card
        ? { [cardAddress]: { ...describedCard(cardAddress), ...hardware.card.reported } }
        : {},
    })),
  clean: () =>
    timeline.effect(process, 'device erase', () => {
      if (!hardware.card) throw new Error('ENODEV');
      if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
      hardware.card.usedBy = undefined;
      return { erased: true };
    }),
});

/** Its host erases it after each holder. */
function describedCard(address: string): ReportedDevice {
  return {
    ...described(address, 'sim_card', 'SSD', '0x144d'),
    identity: 'card-1',
    offers: {
      resource_class: 'CUSTOM_CARD',
      traits: ['CUSTOM_SIM_CARD'],
      attach_handles: pciHandles(1, '0b', { more: 0, cleanSeconds: 60 }),
    },
  };
}
