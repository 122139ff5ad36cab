import { expect, it } from 'vitest';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { hostsToLookAt } from '#core/domain/placement/tree-looks.ts';

const minuteMs = 60_000;
const lostProviders = { since: '', count: 1, isNodeLost: true };

function hosts(count: number, given: Partial<HostSummary> = {}): HostSummary[] {
  return Array.from({ length: count }, (_, index) => {
    const hostname = `cmp${index}`;
    return { hostname, firstSeen: '', devices: 1, notOffered: 0, ...given };
  });
}

/** How often each host is looked at in that number of minutes. */
function looks(all: readonly HostSummary[], minutes: number): Map<string, number> {
  const counts = new Map(all.map(({ hostname }) => [hostname, 0]));
  for (let minute = 0; minute < minutes; minute += 1) {
    const due = hostsToLookAt(all, minute * minuteMs);
    expect(due.length).toBeLessThanOrEqual(600);
    for (const { hostname } of due) counts.set(hostname, (counts.get(hostname) ?? 0) + 1);
  }
  return counts;
}

it.each([
  [300, 1],
  [301, 2],
  [10_000, 34],
])('%i hosts are each looked at once in %i minutes', (count, minutes) => {
  expect(new Set(looks(hosts(count), minutes).values())).toEqual(new Set([1]));
});

it('a host whose tree is lost is looked at each minute', () => {
  const [first, ...others] = hosts(10_000);
  const all = [{ ...(first as HostSummary), lostProviders }, ...others];
  const counts = looks(all, 34);
  expect(counts.get('cmp0')).toBe(34);
  expect(new Set([...counts.values()].slice(1))).toEqual(new Set([1]));
});

it('more lost trees than there are looks in a minute take turns', () => {
  const counts = looks(hosts(900, { lostProviders }), 3);
  expect(new Set(counts.values())).toEqual(new Set([1]));
});

it('a host without devices is not looked at', () => {
  expect(hostsToLookAt(hosts(3, { devices: 0 }), 0)).toEqual([]);
});
