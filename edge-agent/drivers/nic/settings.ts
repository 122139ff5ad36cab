// Settings of driver `nic`: network cards by the PCI addresses of their physical functions, each
// offered as a whole or by its virtual functions. Names of interfaces change with the kernel and
// its drivers, and a card on vfio-pci has none.

import * as z from 'zod';
import { customName, oneOrMany, pciAddress } from '#agent/drivers/contract/setting-forms.ts';
import { type AllowListEntry, allowListEntry } from '#agent/drivers/pci/allow-list.ts';
import { componentLabel, componentList } from '#agent/drivers/pci/components.ts';
import { present } from '#core/shapes/derive/present.ts';

const { bind_to, traits, virtual_functions } = allowListEntry.shape;

const nameIs = 'must be 1 to 64 letters, digits, "_", ".", ":" and "-", a letter or digit first';
const networkName = z.string(nameIs).regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/, nameIs);

const devlinkIs = 'must be a name of devlink, such as "fw.mgmt"';
const devlinkName = z.string(devlinkIs).regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, devlinkIs);

const component = z.strictObject({
  name: componentLabel,
  /** The version that `devlink dev info` shows of it. */
  version: devlinkName,
  /** What `devlink dev flash` writes; without it the card's driver takes an image of all. */
  flash: devlinkName.optional(),
  /** When the card runs what was written. */
  runs_after: z
    .enum(['reload', 'power-cycle'], 'must be reload or power-cycle')
    .default('power-cycle'),
});
export type NicComponent = z.infer<typeof component>;

const card = z.strictObject({
  addresses: oneOrMany(pciAddress, 64),
  /** Neutron's name of the network behind the card. */
  physical_network: networkName.optional(),
  /** What the card is programmed for, as in Cyborg's `function_device_mappings`. */
  function: networkName.optional(),
  virtual_functions,
  bind_to,
  /** `restore`: what the physical function holds of a virtual one, too. */
  clean: z.enum(['restore', 'reset', 'none'], 'must be restore, reset or none').default('restore'),
  resource_class: customName.default('CUSTOM_NIC'),
  traits,
  /** Firmware that an operator may program. */
  components: componentList(component).default([]),
});
export type NicCard = z.infer<typeof card>;

export const nicSettings = z.strictObject({
  cards: z
    .array(card, 'must list the network cards that are offered')
    .min(1, 'must list the network cards that are offered')
    .max(64)
    .superRefine((cards, context) => {
      const seen = new Set<string>();
      for (const [index, each] of cards.entries()) {
        const { addresses, components, bind_to } = each;
        if (components.length > 0 && bind_to && !isByFunctions(each)) {
          const message =
            'a card on a VFIO driver shows no firmware: offer its virtual functions, ' +
            'or leave out bind_to';
          context.addIssue({ code: 'custom', path: [index, 'components'], message });
        }
        for (const address of addresses) {
          if (seen.has(address)) {
            const message = `duplicate address: ${address}`;
            context.addIssue({ code: 'custom', path: [index, 'addresses'], message });
          }
          seen.add(address);
        }
      }
    }),
});
export type NicSettings = z.infer<typeof nicSettings>;

export function isByFunctions({ virtual_functions: count }: NicCard): boolean {
  return count !== false;
}

/** Address of the physical function → card. */
export function cardsByAddress({ cards }: NicSettings): ReadonlyMap<string, NicCard> {
  return new Map(
    cards.flatMap((each) => each.addresses.map((address) => [address, each] as const)),
  );
}

/** PCI class 02: network controllers. */
export const networkClass = '02';

/** In the form of driver `pci`. */
export function toAllowList(settings: NicSettings): readonly AllowListEntry[] {
  return [...cardsByAddress(settings)].map(([address, card]) => ({
    address,
    class: networkClass,
    device_type: 'NIC',
    resource_class: card.resource_class,
    traits: [...new Set([...cyborgTraits(card), ...card.traits])],
    virtual_functions: card.virtual_functions,
    ...present({ bind_to: card.bind_to }),
    companions: false,
    clean: card.clean === 'none' ? 'none' : 'reset',
  }));
}

/** The names are those of Cyborg's intel_nic_driver. */
function cyborgTraits(card: NicCard): string[] {
  const names = [card.function, card.physical_network].filter((each) => each !== undefined);
  return [
    isByFunctions(card) ? 'CUSTOM_VF' : 'CUSTOM_PF',
    ...names.map((each) => `CUSTOM_${each.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`),
  ];
}
