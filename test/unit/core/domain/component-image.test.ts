import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  compareVersions,
  readComponentImage,
  signedText,
} from '#core/domain/device/firmware/component-image.ts';

it.each([
  ['1.10', '1.9', 1],
  ['1.9', '1.9', 0],
  ['1.9', '1.9.1', -1],
  ['0x10', '0x9', 1],
  ['2.0-rc1', '2.0-rc2', -1],
  ['V3.1', 'v3.1', 0],
])('%s compared with %s is %i', (one, other, expected) => {
  expect(Math.sign(compareVersions(one, other))).toBe(expected);
});

it('takes a signature that openssl has made as docs/operations/firmware.md says', () => {
  const directory = mkdtempSync(join(tmpdir(), 'signing-'));
  const at = (name: string) => join(directory, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args);
  const image = {
    id: 'i',
    hash: { algorithm: 'sha512', value: 'abc' },
    properties: {
      'accel:component': 'bmc',
      'accel:models': '8086:0b30',
      'accel:version': '2.0',
    },
  };
  openssl('genpkey', '-algorithm', 'ed25519', '-out', at('key'));
  const der = openssl('pkey', '-in', at('key'), '-pubout', '-outform', 'DER');
  writeFileSync(at('text'), signedText(image));
  const signature = openssl('pkeyutl', '-sign', '-rawin', '-inkey', at('key'), '-in', at('text'));
  rmSync(directory, { recursive: true });
  const properties = { ...image.properties, 'accel:signature': signature.toString('base64') };
  const rules = {
    imageKeys: { release: der.subarray(-32).toString('base64') },
    requireSignature: ['firmware'],
    minVersions: {},
  } as const;
  const target = { vendor: '0x8086', product: '0x0b30', component: 'bmc' };
  expect(readComponentImage({ ...image, properties }, target, rules)).toEqual({ version: '2.0' });
  const forged = { ...properties, 'accel:models': '8086:0b30,10de:2235' };
  expect(readComponentImage({ ...image, properties: forged }, target, rules)).toMatchObject({
    refusal: expect.stringContaining('fits none of the keys'),
  });
});
