// Ranges of measured hosts: together they are the cloud, or it does not count as measured.

import { describe, expect, it } from 'vitest';
import type { CapacityHost } from '#core/domain/capacity/capacity.ts';
import { joinRanges, kindOf, type MeasuredRange } from '#core/domain/capacity/measured-hosts.ts';
import { type DeployableUuid, derivedUuid, type HandleUuid } from '#core/domain/ids.ts';
import { aDeployable, aStoredHandle } from '#test/support/builders.ts';

const host = (hostname: string, isPaused = false): CapacityHost => ({
  hostname,
  isPaused,
  providers: [],
});

function range(after: string, upTo: string, hour: number, ...names: string[]): MeasuredRange {
  const at = `2026-07-01T0${hour}:00:00.000Z`;
  return { after, upTo, at, hosts: names.map((name) => host(name, hour > 1)) };
}

const nowMs = Date.parse('2026-07-01T03:00:00.000Z');
const namesOf = (...ranges: MeasuredRange[]) =>
  joinRanges(ranges, nowMs)?.hosts.map(({ hostname }) => hostname);

describe('the hosts of measured ranges', () => {
  it('are those of all ranges, as old as the oldest one', () => {
    const ranges = [range('b', '~', 2, 'c'), range('', 'b', 1, 'a', 'b')];
    expect(namesOf(...ranges)).toEqual(['a', 'b', 'c']);
    expect(joinRanges(ranges, nowMs)?.at).toBe('2026-07-01T01:00:00.000Z');
    expect(namesOf(range('', '~', 1))).toEqual([]);
  });

  it('are as the newest range has them where several have them', () => {
    const ranges = [
      range('', 'd', 1, 'a', 'b', 'c', 'd'),
      range('', 'b', 2, 'a'),
      range('d', '~', 1),
    ];
    expect(joinRanges(ranges, nowMs)?.hosts).toEqual([host('a', true), host('c'), host('d')]);
  });

  it.each([
    ['nothing is measured', []],
    ['the first hosts are missing', [range('a', '~', 1, 'b')]],
    ['the last hosts are missing', [range('', 'b', 1, 'a', 'b')]],
    ['hosts between two ranges are missing', [range('', 'b', 1), range('c', '~', 1)]],
    ['a range is too old', [range('', 'b', 0), range('b', '~', 1)]],
  ])('are not known while %s', (_, ranges) => {
    expect(joinRanges(ranges, nowMs)).toBeUndefined();
  });
});

it('providers of one kind and state are equal, whatever they are called', () => {
  const provider = (name: string) => ({
    deployable: aDeployable({
      name,
      hostname: name,
      createdAt: name,
      uuid: derivedUuid('each', name) as DeployableUuid,
    }),
    handles: ['b', 'a'].map((handle) =>
      aStoredHandle({
        uuid: derivedUuid('handle', `${name} ${handle}`) as HandleUuid,
        info: { bus: `${name} ${handle}` },
        ...(handle === name && { release: derivedUuid('release', name) as never }),
      }),
    ),
  });
  expect(kindOf(provider('a'))).toEqual(kindOf(provider('b')));
  expect(kindOf(provider('c'))).not.toEqual(kindOf(provider('b')));
  expect(kindOf(provider('c')).handles.map(([count]) => count)).toEqual([2]);
});
