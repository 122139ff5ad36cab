import { describe, expect, it } from 'vitest';
import {
  compareVersions,
  holdId,
  matchesHold,
  readSelector,
} from '#core/domain/device/device-holds.ts';
import { aStoredDevice } from '#test/support/builders.ts';

const device = aStoredDevice({ vendor: '0x10DE', product: '20B5', firmware: '1.10' });

it.each([
  ['1.2', '1.10', -1],
  ['1.2', '1.2.0', 0],
  ['v1.2', '1.02', 0],
  ['1.2-rc1', '1.2', 1],
  ['94.02.5C.00.10', '94.02.61.00.10', -1],
  ['20240115123456789012345', '20240115123456789012346', -1],
  ['9', 'a0', -1],
  ['', '1', -1],
])('compares %s with %s', (one, other, order) => {
  expect(Math.sign(compareVersions(one, other))).toBe(order);
  expect(Math.sign(compareVersions(other, one))).toBe(order === 0 ? 0 : -order);
});

describe('a hold', () => {
  it.each([
    [{ vendor: '10de' }, true],
    [{ vendor: '0x10DE' }, true],
    [{ vendor: '8086' }, false],
    [{ model: '10DE:20b5' }, true],
    [{ model: '10de:20b5', type: 'NIC' }, false],
    [{ hostname: device.hostname }, true],
    [{ driver: device.driver, type: device.type }, true],
    [{ firmware: '<1.9' }, false],
    [{ firmware: '> 1.9' }, true],
    [{ firmware: '>=1.10, <=1.10' }, true],
    [{ firmware: '=1.10.0' }, true],
    [{ firmware: '>1.10' }, false],
    [{ firmware: '>=1,<1.10' }, false],
  ])('by %j: %s', (selector, matches) => {
    expect(matchesHold(device, { selector: readSelector(selector) })).toBe(matches);
  });

  it('by firmware does not match a device whose firmware is unknown', () => {
    const { firmware: _firmware, ...unknown } = device;
    expect(matchesHold(unknown, { selector: { firmware: '<99' } })).toBe(false);
  });

  it('has an id that follows from its selector', () => {
    const one = readSelector({ vendor: '0x10DE', firmware: '< 1.2' });
    expect(holdId(one)).toBe(holdId(readSelector({ firmware: '<1.2', vendor: '10de' })));
    expect(holdId(one)).not.toBe(holdId({ vendor: '10de' }));
  });

  it('must name something', () => {
    expect(() => readSelector({})).toThrow('would match all devices');
  });
});
