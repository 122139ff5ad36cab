import { describe, expect, it } from 'vitest';
import { pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { choosePciFunctions, readMissing, readWishes } from '#agent/drivers/pci/choice.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { aPciFunction } from '#test/support/hosts/agent.ts';

const nvidia = { vendor_id: '10de' };
const nvidiaVirtual = { vendor_id: '10de', virtual_functions: true };
const card = aPciFunction({ address: '0000:3b:00.0', iommuGroup: '1' });

function virtual(...numbers: number[]): PciFunction[] {
  return numbers.map((number) =>
    aPciFunction({
      address: `0000:3b:00.${number}`,
      physicalFunction: card.address,
      iommuGroup: String(100 + number),
    }),
  );
}

function choose(functions: PciFunction[], allowList: object[], guarded: [string, string][] = []) {
  const read = readWishes(functions, pciAllowList.parse(allowList));
  const { choices, refusals } = choosePciFunctions(read.wishes, new Map(guarded), functions);
  return {
    offered: choices.map(({ offered }) => offered.map(({ address }) => address)),
    refusals: Object.fromEntries([...read.refusals, ...refusals]),
    choices,
  };
}

describe('an offered function', () => {
  it('is named by the allow-list', () => {
    const other = aPciFunction({ address: '0000:5e:00.0', vendorId: '8086', iommuGroup: '2' });
    expect(choose([card, other], [nvidia])).toMatchObject({
      offered: [[card.address]],
      refusals: {},
    });
  });

  it('is described by the first entry that matches', () => {
    const first = { ...nvidia, resource_class: 'CUSTOM_FIRST' };
    const { choices } = choose([card], [first, nvidia]);
    expect(choices[0]?.entry.resource_class).toBe('CUSTOM_FIRST');
  });

  it('is never a function that has virtual functions', () => {
    expect(choose([card, ...virtual(1, 2)], [nvidia])).toMatchObject({
      offered: [],
      refusals: { [card.address]: expect.stringContaining('has virtual functions') as string },
    });
  });

  it('is each virtual function, as one device, if the entry says so', () => {
    const { offered, choices } = choose([card, ...virtual(1, 2)], [nvidiaVirtual]);
    expect(offered).toEqual([['0000:3b:00.1', '0000:3b:00.2']]);
    expect(choices[0]?.physical).toBe(card);
  });

  it('is the whole card until it has virtual functions, with an entry for either', () => {
    expect(choose([card], [nvidiaVirtual, nvidia]).offered).toEqual([[card.address]]);
    expect(choose([card, ...virtual(1)], [nvidiaVirtual, nvidia]).offered).toEqual([
      ['0000:3b:00.1'],
    ]);
  });

  it('compares the ids of virtual functions, not those of their card', () => {
    const functions = virtual(1).map((fn) => ({ ...fn, productId: '154c' }));
    const entry = { product_id: '154c', virtual_functions: true };
    expect(choose([card, ...functions], [entry]).offered).toEqual([['0000:3b:00.1']]);
    expect(choose([card, ...functions], [{ ...entry, product_id: '2235' }]).offered).toEqual([]);
  });

  it('is a virtual function only if its card is there', () => {
    expect(choose(virtual(1), [nvidiaVirtual]).offered).toEqual([]);
  });
});

describe('a function that cannot be assigned is not offered', () => {
  it('if the guards refuse it, and leaves its group to another', () => {
    const sibling = { ...card, address: '0000:3b:00.1' };
    const { offered, refusals } = choose([card, sibling], [nvidia], [[card.address, 'is open']]);
    expect(offered).toEqual([[sibling.address]]);
    expect(refusals).toEqual({ [card.address]: 'is open' });
  });

  it('beside another offered function of its group: a group has one user', () => {
    const sibling = { ...card, address: '0000:3b:00.1' };
    const { offered, refusals } = choose([card, sibling], [nvidia]);
    expect(offered).toEqual([[card.address]]);
    expect(refusals[sibling.address]).toContain('is offered');
  });
});

describe('the device type', () => {
  it.each([
    ['030200', '10de', '2235', 'GPU'],
    ['030000', '1002', '744c', 'GPU'],
    ['020000', '8086', '1572', 'NIC'],
    ['010802', '144d', 'a80a', 'SSD'],
    ['0b4000', '8086', '4940', 'QAT'],
    ['0b4000', '1bcf', '001c', 'COPROCESSOR'],
    ['0b4000', '8086', '225c', 'COPROCESSOR'],
    ['120000', '10ee', '5005', 'FPGA'],
    ['120000', '8086', '09c4', 'FPGA'],
    ['120000', '19e5', 'd100', 'AICHIP'],
    ['120000', '8086', '7d1d', 'AICHIP'],
  ])('of class %s, %s:%s is %s', (classCode, vendorId, productId, type) => {
    const fn = { ...card, classCode, vendorId, productId };
    expect(choose([fn], [{ address: fn.address }]).choices[0]?.type).toBe(type);
  });

  it('is that of the entry', () => {
    const { choices } = choose([card], [{ ...nvidia, device_type: 'AICHIP' }]);
    expect(choices[0]?.type).toBe('AICHIP');
  });

  it('must be in the entry for an unspecific class', () => {
    const { offered, refusals } = choose([{ ...card, classCode: 'ff0000' }], [nvidia]);
    expect(offered).toEqual([]);
    expect(refusals[card.address]).toContain('device_type');
  });
});

describe('an address of the allow-list', () => {
  const missing = (functions: PciFunction[], ...allowList: object[]) =>
    Object.fromEntries(readMissing(functions, pciAllowList.parse(allowList)));
  const exact = { address: card.address };

  it.each([{ ...exact, vendor_id: '10de' }, exact, { address: '3b:00.0' }])(
    'has a reason if no function is there: %j',
    (entry) => {
      expect(missing([], entry)).toEqual({ [card.address]: 'is not on this host' });
      expect(missing([card], entry)).toEqual({});
    },
  );

  it('has a reason if another device is there', () => {
    const is = `${card.vendorId}:${card.productId} of class ${card.classCode}`;
    const reason = `is ${is}, which its entry does not name`;
    expect(missing([card], { ...exact, vendor_id: '8086' })).toEqual({ [card.address]: reason });
    expect(missing([card], { ...exact, class: '0108' })).toEqual({ [card.address]: reason });
  });

  it('has none if another entry with the address names the device', () => {
    const entries = [
      { ...exact, vendor_id: '8086' },
      { ...exact, vendor_id: '10de' },
    ];
    expect(missing([card], ...entries)).toEqual({});
  });

  it('has a reason if the card has no virtual functions, which its entry asks for', () => {
    const entry = { ...exact, virtual_functions: true };
    const reason = 'has no virtual functions that its entry names';
    expect(missing([card], entry)).toEqual({ [card.address]: reason });
    expect(missing([card, ...virtual(1)], entry)).toEqual({});
    expect(missing([card, ...virtual(1)], { ...entry, product_id: '0001' })).toEqual({
      [card.address]: reason,
    });
  });

  it('has a reason if it is a virtual function, which its entry does not ask for', () => {
    const at = { address: '0000:3b:00.1' };
    const reason = 'is a virtual function, and its entry lacks virtual_functions';
    expect(missing([card, ...virtual(1)], at)).toEqual({ [at.address]: reason });
    expect(missing([card, ...virtual(1)], { ...at, virtual_functions: true })).toEqual({});
  });

  it('has none if it is a pattern', () => {
    expect(missing([], { address: '*:3b:00.*' }, { vendor_id: '10de' })).toEqual({});
  });
});
