// Recorded hosts: what the drivers offer of each is a page that people review.

import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openProc } from '#agent/guards/proc.ts';
import { parseHost, printHost } from '#agent/record/host-record.ts';
import { recordHost } from '#agent/record/record-host.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import type { GuardedHost } from '#test/support/hosts/guarded-host.ts';
import { buildHost } from './build-host.ts';
import { parseListing } from './listing.ts';
import { printTable, tableFile } from './table.ts';

it('the page of hardware is what the drivers say of the recorded hosts', async () => {
  expect(await printTable(), 'run npm run hosts, and read what changed').toBe(
    readFileSync(tableFile, 'utf8'),
  );
});

describe('a record of a host', () => {
  const text = [
    '0000:00:01.0 8086:2030 060400 rev 00 driver pcieport group 1 node 0 resets pm',
    '0000:17:00.0 10de:2330 030200 rev a1 subsystem 10de:16c1 driver nvidia group 29 node 0 below 0000:00:01.0 vfs 16 resets flr,bus boot-vga 1 drm card1,renderD128',
    '0000:18:00.0 8086:1572 020000 rev 01 driver i40e group 30 node -1 below 0000:00:01.0 resets flr net ens1f0',
    '0000:19:00.0 144d:a80a 010802 rev 00 driver nvme group 31 node -1 resets flr block nvme0n1,nvme0n1p1',
    'master ens1f0 bond0',
    'route ens1f0 default',
    'mount nvme0n1p1 /',
    'holder nvme0n1 dm-0',
    '',
  ].join('\n');
  let host: GuardedHost;

  beforeEach(() => {
    host = buildHost(parseHost(text));
  });
  afterEach(() => host.remove());
  const recorded = () => printHost(recordHost(host.sysfs, openProc(host.proc.root)));

  it('is what the host shows, and shows the host again', () => {
    host.tree.write('class/block/nvme0n1p1/dev', '259:1\n');
    host.proc.write('self/mountinfo', '1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n');
    expect(recorded()).toBe(text);
  });

  it('names no path of a mount, and no entry with a strange name', () => {
    host.tree.write('class/block/nvme0n1p1/dev', '259:1\n');
    host.proc.write('self/mountinfo', '1 0 259:1 / /home/secret rw - ext4 /dev/nvme0n1p1 rw\n');
    host.addEntry('class/net/e vil\n', '0000:18:00.0', 'net/evil');
    expect(recorded()).toContain('mount nvme0n1p1 elsewhere\n');
    expect(recorded()).not.toMatch(/secret|vil/);
  });

  it('leaves out what vanishes, and loops of links', () => {
    const path = join(host.tree.root, host.tree.pathOf('0000:19:00.0'));
    rmSync(path, { recursive: true });
    symlinkSync('0000:1a:00.0', join(host.tree.root, 'bus/pci/devices/0000:1a:00.0'));
    const { functions } = recordHost(openSysfs(host.tree.root), openProc(host.proc.root));
    expect(functions.map(({ address }) => address)).toEqual([
      '0000:00:01.0',
      '0000:17:00.0',
      '0000:18:00.0',
    ]);
  });

  it.each([
    ['without a class', '0000:17:00.0 10de:2330', 'No function: "0000:17:00.0 10de:2330"'],
    [
      'with an unknown word',
      '0000:17:00.0 10de:2330 030200 owner root',
      '"owner" of 0000:17:00.0 is none of rev, ',
    ],
    [
      'with a path',
      '0000:17:00.0 10de:2330 030200 driver ../../etc',
      '"driver" of 0000:17:00.0 is none of',
    ],
    ['with a mount', 'mount sda1 /home', 'No use of a device: "mount sda1 /home"'],
    ['of 35,000 lines', 'x\n'.repeat(35_000), 'More than 20000 lines.'],
  ])('%s is refused', (_, line, sentence) => {
    expect(() => parseHost(line)).toThrow(sentence);
  });
});

describe('a listing', () => {
  it('of lspci -nnk becomes functions', () => {
    const text = `17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
\tSubsystem: NVIDIA Corporation Device [10de:16c1]
\tKernel driver in use: vfio-pci
IOMMU Group 5 0001:18:00.0 Ethernet controller [0200]: Intel [8086:1572] (rev 01) (driver: i40e)`;
    expect(parseListing(text)).toEqual([
      {
        address: '0000:17:00.0',
        ids: '10de:2330',
        classCode: '030200',
        values: { rev: 'a1', subsystem: '10de:16c1', driver: 'vfio-pci' },
      },
      {
        address: '0001:18:00.0',
        ids: '8086:1572',
        classCode: '020000',
        values: { rev: '01', driver: 'i40e', group: '5' },
      },
    ]);
  });

  it('of something else is refused', () => {
    expect(() => parseListing('total 0\n-rw-r--r-- 1 root')).toThrow('no line of `lspci -nn`');
  });
});
