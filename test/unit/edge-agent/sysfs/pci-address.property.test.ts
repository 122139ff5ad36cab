import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { pciAddress } from '#core/shapes/derive/fields.ts';

const hexadecimal = (max: number, digits: number) =>
  fc.nat(max).map((number) => number.toString(16).padStart(digits, '0'));

/** The kernel's spelling: domains have four digits or, without leading zeros, more. */
const address = fc
  .tuple(hexadecimal(0xffffffff, 4), hexadecimal(255, 2), hexadecimal(31, 2), fc.nat(7))
  .map(([domain, bus, device, fn]) => `${domain}:${bus}:${device}.${fn}`);

function print(text: string): string | undefined {
  const parsed = parsePciAddress(text);
  return parsed && printPciAddress(parsed);
}

it('prints the address that it has read', () => {
  fc.assert(
    fc.property(address, (text) => {
      expect(print(text)).toBe(text);
    }),
  );
});

it('reads other spellings as the same address', () => {
  fc.assert(
    fc.property(address, (text) => {
      const [domain = '', ...rest] = text.split(':');
      const spelledLong = [domain.padStart(8, '0'), ...rest].join(':').toUpperCase();
      expect(print(spelledLong)).toBe(text);
    }),
  );
});

it('reads neither a malformed address nor one that a report would refuse', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        address.map((text) => `${text}0`),
      ),
      (text) => {
        const printed = print(text);
        expect(printed === undefined || pciAddress.safeParse(printed).success).toBe(true);
      },
    ),
  );
});

it.each(['', '0000:3b:00', '0000:3b:20.0', '0000:3b:00.8', '../0000:3b:00.0', '3b:00.0'])(
  'refuses %j',
  (text) => expect(parsePciAddress(text)).toBeUndefined(),
);
