// Images for the card of the module fake_dfl.

import { aGbs } from '#test/support/hosts/gbs.ts';

/** The value that fake_dfl writes into its registers. */
export const interfaceUuid = '99aabbcc-ddee-ff00-1122-334455667788';

/** An image whose last word makes the function of the region. */
export function imageOf(word: number): { readonly functionUuid: string; readonly bytes: Buffer } {
  const hex = word.toString(16).padStart(8, '0');
  const functionUuid = `11112222-3333-4444-aaaa-bbbb${hex}`;
  const head = aGbs({ interfaceUuid, functionUuid, bitstream: '' });
  const bitstream = Buffer.alloc(100_000);
  bitstream.writeUInt32LE(word, bitstream.length - 4);
  return { functionUuid, bytes: Buffer.concat([head, bitstream]) };
}
