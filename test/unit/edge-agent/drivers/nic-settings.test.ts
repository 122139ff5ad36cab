import { describe, expect, it } from 'vitest';
import { ownDriver } from '#test/support/hosts/own-driver.ts';

const card = '0000:3d:00.0';

describe('the settings of driver nic', () => {
  const faultsOf = (given: unknown) => {
    const made = ownDriver('nic').configure(given);
    return 'faults' in made
      ? made.faults.map(({ path, message }) => [path.join('.'), message])
      : [];
  };
  const network = 'must be 1 to 64 letters, digits, "_", ".", ":" and "-", a letter or digit first';

  it.each([
    [{}, 'cards', 'must list the network cards that are offered'],
    [{ cards: [] }, 'cards', 'must list the network cards that are offered'],
    [{ cards: [{}] }, 'cards.0.addresses', 'must name a PCI address'],
    [
      { cards: [{ addresses: 'ens1' }] },
      'cards.0.addresses.0',
      'must be a PCI address, such as "0000:3b:00.0"',
    ],
    [
      { cards: [{ addresses: card }, { addresses: [card] }] },
      'cards.1.addresses',
      `duplicate address: ${card}`,
    ],
    [
      { cards: [{ addresses: card, physical_network: 'a b' }] },
      'cards.0.physical_network',
      network,
    ],
    [
      { cards: [{ addresses: card, virtual_functions: 0 }] },
      'cards.0.virtual_functions',
      'must be true, false or a number from 1 to 65535',
    ],
    [
      { cards: [{ addresses: card, bind_to: 'i40e' }] },
      'cards.0.bind_to',
      'must be a VFIO driver, such as vfio-pci',
    ],
    [
      { cards: [{ addresses: card, clean: 'wipe' }] },
      'cards.0.clean',
      'must be restore, reset or none',
    ],
    [
      { cards: [{ addresses: card, resource_class: 'PGPU' }] },
      'cards.0.resource_class',
      'must be CUSTOM_ and capital letters, digits or "_"',
    ],
  ])('%j: %s %s', (given, path, message) => {
    expect(faultsOf(given)).toEqual([[path, message]]);
  });
});
