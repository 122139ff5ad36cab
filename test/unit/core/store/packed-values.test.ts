import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pack, unpack } from '#core/store/rows/packed-values.ts';

const hex = fc.stringMatching(/^[0-9a-f]{32}$/);
const id = fc.oneof(
  hex,
  fc.uuid(),
  hex.map((text) => text.toUpperCase()),
);
const prefix = fc.constantFrom('', 'user:', 'req-', 'agent:');
const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());

it('are the same text again', () => {
  const text = fc.oneof(
    fc.tuple(prefix, id).map((parts) => parts.join('')),
    time,
    time.map((iso) => iso.replace(/\.\d{3}Z$/, 'Z')),
    fc.string(),
  );
  fc.assert(fc.property(text, (each) => unpack(pack(each)) === each));
});

it.each([
  ['2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11', 17],
  ['1888ad8b145368b77b4f9dcf1a02f152', 17],
  ['user:2c5e34efd818ba04d2cde215585e1015', 17],
  ['req-993f4fef-599b-48bb-b332-4f8f9cad5975', 17],
  ['agent', 5],
])('%s is %d bytes', (text, bytes) => {
  expect(pack(text)).toHaveLength(bytes);
});

it('are a number for a time', () => {
  expect(pack('2026-07-01T01:02:03.004Z')).toBe(Date.parse('2026-07-01T01:02:03.004Z'));
  expect(pack('2026-07-01T01:02:03.004+00:00')).toBeTypeOf('string');
  expect(pack('2026-02-31T01:02:03.004Z')).toBeTypeOf('string');
});
