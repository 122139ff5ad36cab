import { describe, expect, it } from 'vitest';
import { describeUse, type Use } from '#agent/guards/uses/uses.ts';
import { scrub } from '#agent/record/scrub.ts';

const secret = 'alice-secret';
const uses: readonly Use[] = [
  { kind: 'mount', block: 'nvme0n1p2', at: `/home/${secret}/data` },
  { kind: 'file-system', block: 'nvme0n1', name: `btrfs ${secret}` },
  { kind: 'member', block: 'nvme0n1', holder: `dm-0 (${secret}-root)` },
  { kind: 'open', node: '/dev/nvme0n1', by: `process 31 (${secret})` },
  { kind: 'domain', name: secret },
  { kind: 'mdev', uuid: '4b20d080-1b54-4048-85b3-a6a62d165c01' },
];

describe('a scrubbed text', () => {
  it.each(uses)('has no name of a use of kind $kind', (use) => {
    const text = scrub(`# Is not offered: it ${describeUse(use)}.`, []);
    expect(text).not.toMatch(/secret|\b31\b|4b20d080/);
    expect(text.slice(0, 30)).toBe(`# Is not offered: it ${describeUse(use)}`.slice(0, 30));
  });

  it.each([
    ['eth0 has 52:54:00:00:00:01', 'eth0 has <mac>'],
    ['node 0c42:a103:00a1:b2c3 of InfiniBand', 'node <address> of InfiniBand'],
    ['fe80::5054:ff:fe00:1 and 192.0.2.7', '<address> and <address>'],
    ['GPU-5F2A8B2C-1111-2222-3333-444455556666', 'GPU-<uuid>'],
    ['S-4711-A at cmp1.example of rack-4711', '<name> at <name> of rack-4711'],
    [`/home/${secret}/images.gbs: ENOENT`, '/home/<path>: ENOENT'],
  ])('of %j is %j', (text, expected) => {
    expect(scrub(text, ['S-4711-A', 'cmp1.example', 'cmp1', 'n/a', ''])).toBe(expected);
  });

  it.each([
    'seen      nvme 0000:c1:00.0: nvme-cli is of version 2.16.',
    'The driver of 10000:e1:00.0 is 144d:a801, video BIOS 96.00.89.00.01, NVIDIA 580.65.06.',
    'shares IOMMU group 29 with 0000:11:00.0, which is offered',
    'is bound to /usr/sbin/nvme; took 41 ms: nvme discover',
  ])('keeps %j', (text) => {
    expect(scrub(text, [])).toBe(text);
  });
});
