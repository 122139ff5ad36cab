// Access rules of application credentials, with the cases of keystonemiddleware.

import { describe, expect, it } from 'vitest';
import { isCallAllowed } from '#core/domain/access-rules.ts';

const rule = (path: string) => ({ service: 'accelerator', method: 'GET', path });
const matches = (path: string, pattern: string) =>
  isCallAllowed([rule(pattern)], { method: 'GET', path });

describe('a path fits', () => {
  it.each([
    ['/v2/devices', '/v2/devices'],
    ['/v2/devices/123', '/v2/devices/{uuid}'],
    ['/v2/devices/123/', '/v2/devices/{uuid}/'],
    ['/v2/devices/123', '/v2/devices/*'],
    ['/v2/devices/123/', '/v2/devices/*/'],
    ['/v2/devices/123', '/v2/devices/**'],
    ['/v2/devices/123/', '/v2/devices/**'],
    ['/v2/devices/', '/v2/devices/**'],
    ['/v2/devices/123/enable', '/v2/devices/**'],
    ['/v2/devices', '**'],
    ['/v2/devices/123/enable', '**'],
    ['/v2/devices/123/enable', '/v2/*/*/*'],
    ['/v2/devices/123/enable', '/v2/{a}/{b}/enable'],
    ['/v2/devices/123', '/v2/dev*/{id}'],
    ['/accelerator/v2/devices', '**/v2/**'],
  ])('%s by %s', (path, pattern) => {
    expect(matches(path, pattern)).toBe(true);
  });
});

describe('a path does not fit', () => {
  it.each([
    ['/v2/devices/123', '/v2/devices'],
    ['/v2/devices//', '/v2/devices/{uuid}'],
    ['/v2/devices/', '/v2/devices/{uuid}'],
    ['/v2/devices', '/v2/devices/{uuid}'],
    ['/v2/devices/123/', '/v2/devices/{uuid}'],
    ['/v2/devices/123/enable', '/v2/devices/*'],
    ['/v2/devices', 'v2/devices'],
    ['/v2/devices', '/accelerator/v2/devices'],
    ['/accelerator/v2/devices', '/v2/devices'],
    ['/v2xdevices', '/v2.devices'],
    ['/v2/devices', '/v2/DEVICES'],
    ['/v2/devices', ''],
    ['/v2/devices', '{'],
  ])('%s by %s', (path, pattern) => {
    expect(matches(path, pattern)).toBe(false);
  });

  it('and a pattern that has many answers is decided as quickly', () => {
    expect(matches(`/${'a'.repeat(4000)}`, `${'**a'.repeat(42)}b`)).toBe(false);
  });
});

it.each([
  [{ ...rule('**'), method: 'POST' }],
  [{ ...rule('**'), method: 'get' }],
  [{ ...rule('**'), service: 'compute' }],
])('a rule for another method or service allows nothing: %j', (other) => {
  expect(isCallAllowed([other], { method: 'GET', path: '/v2/devices' })).toBe(false);
});

it('an empty list of rules allows nothing', () => {
  expect(isCallAllowed([], { method: 'GET', path: '/v2/devices' })).toBe(false);
});
