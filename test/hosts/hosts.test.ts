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
import { parseKernelLog } from './kernel-log.ts';
import { parseListing } from './listing.ts';
import { offerHost } from './offer-host.ts';
import { printTable, tableFile } from './table.ts';
import { toRecord } from './to-record.ts';
import { parseUdevExport } from './udev-export.ts';

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

  it('says that a function has no IOMMU group and no way to reset, and names no connectors', () => {
    const address = '0000:1a:00.0';
    host.tree.addFunction({ address, iommuGroup: undefined, resetMethod: '' });
    host.addEntry('class/drm/card2', address, 'drm/card2');
    host.addEntry('class/drm/card2-DP-1', address, 'drm/card2/card2-DP-1');
    const line = recorded()
      .split('\n')
      .find((each) => each.startsWith(address));
    expect(line).toMatch(/ group none node \S+ resets none drm card2$/);
  });

  it('has the way to reset of a kernel that names none', () => {
    host.tree.addFunction({ address: '0000:1a:00.0', resetMethod: '' });
    const path = host.tree.pathOf('0000:1a:00.0');
    rmSync(join(host.tree.root, path, 'reset_method'));
    host.tree.write(`${path}/reset`, '');
    expect(recorded()).toContain(' resets unnamed');
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

describe('the drivers offer of a recorded host', () => {
  const offered = async (text: string) => {
    const rows = await offerHost(parseHost(text));
    return Object.fromEntries(rows.map(({ address, outcome }) => [address, outcome]));
  };
  const ssd = '0000:19:00.0 144d:a80a 010802 driver nvme';

  it.each([
    ['no disk with the root', 'block nvme0n1,nvme0n1p1\nmount nvme0n1p1 /', /mounted file system/],
    [
      'no disk that LUKS, LVM or RAID holds',
      'block nvme0n1\nholder nvme0n1 dm-0',
      /part of a volume/,
    ],
    ['no disk with swap space', 'block nvme0n1\nmount nvme0n1 swap', /swap space/],
    ['no device without IOMMU group', 'group none', /the IOMMU is off/],
    ['no device without a way to reset', 'resets none', /no reset method/],
    ['a disk without a use', 'block nvme0n1', /^SSD/],
  ])('%s', async (_, rest, outcome) => {
    expect((await offered(`${ssd} ${rest}\n`))['0000:19:00.0']).toMatch(outcome);
  });
});

describe('an export of udev', () => {
  const text = `P: /devices/pci0000:40/0000:40:01.1
E: DEVPATH=/devices/pci0000:40/0000:40:01.1
E: DRIVER=pcieport
E: PCI_CLASS=60400
E: PCI_ID=1022:1483
E: PCI_SLOT_NAME=0000:40:01.1
E: SUBSYSTEM=pci

P: /devices/pci0000:40/0000:40:01.1/0000:41:00.0
E: DEVPATH=/devices/pci0000:40/0000:40:01.1/0000:41:00.0
E: DRIVER=mlx5_core
E: PCI_CLASS=20000
E: PCI_ID=15B3:101B
E: PCI_SUBSYS_ID=15B3:0007
E: PCI_SLOT_NAME=0000:41:00.0
E: SUBSYSTEM=pci

P: /devices/pci0000:40/0000:40:01.1/0000:41:00.0/net/enx0c42a1d2035a
E: DEVPATH=/devices/pci0000:40/0000:40:01.1/0000:41:00.0/net/enx0c42a1d2035a
E: SUBSYSTEM=net

P: /devices/pci0000:40/0000:40:01.1/0000:41:00.0/net/ens1
E: DEVPATH=/devices/pci0000:40/0000:40:01.1/0000:41:00.0/net/ens1
E: ID_NET_NAME_MAC=enx0c42a1d2035a
E: SUBSYSTEM=net

P: /devices/pci0000:40/0000:40:05.0
E: DEVPATH=/devices/pci0000:40/0000:40:05.0
E: PCI_CLASS=88000
E: PCI_ID=8086:2024
E: PCI_SLOT_NAME=0000:40:05.0
E: SUBSYSTEM=pci
`;

  it('becomes a record of what drivers and guards ask for, without hardware addresses', () => {
    expect(toRecord(text)).toBe(`0000:40:01.1 1022:1483 060400 driver pcieport
0000:41:00.0 15b3:101b 020000 subsystem 15b3:0007 driver mlx5_core below 0000:40:01.1 net ens1
`);
  });

  it('says what RAID and LUKS hold', () => {
    const block = (name: string, ...more: string[]) =>
      [
        `E: DEVPATH=/devices/pci0000:40/0000:40:01.1/0000:41:00.0/block/${name}`,
        ...['E: SUBSYSTEM=block', `E: DEVNAME=/dev/${name}`, ...more, '', ''],
      ].join('\n');
    const volumes = [
      'E: DEVPATH=/devices/virtual/block/md126\nE: DEVNAME=/dev/md126\nE: DEVTYPE=disk',
      'E: UDISKS_MD_DEVICE_dev_sda_DEV=/dev/sda\nE: UDISKS_MD_DEVICE_dev_sdz_DEV=/dev/sdz',
      '\nE: DEVPATH=/devices/virtual/block/dm-0\nE: DEVNAME=/dev/dm-0\nE: DEVTYPE=disk',
      'E: DM_UUID=CRYPT-LUKS2-0123456789abcdef0123456789abcdef-root\n',
    ].join('\n');
    const uuid = '01234567-89ab-cdef-0123-456789abcdef';
    const disks = block('sda') + block('sdb1', `E: ID_FS_UUID=${uuid}`);
    expect(parseUdevExport(`${text}\n${disks}${volumes}`).holders).toEqual({
      sda: 'md126',
      sdb1: 'dm-0',
    });
  });

  it('without a PCI function is refused', () => {
    expect(() => parseUdevExport('E: DEVPATH=/devices/virtual/net/lo\n')).toThrow(
      'The export has no PCI function.',
    );
  });
});

describe("a kernel's log", () => {
  it('becomes functions with their IOMMU groups', () => {
    const text = `[    1.79] pci 0000:05:00.0: [1002:740f] type 00 class 0x038000 PCIe Endpoint
[    1.80] pci 0000:05:00.0: BAR 0 [mem 0x00000000-0xfffffffff 64bit pref]
[    3.68] pci 0000:05:00.0: Adding to iommu group 12`;
    expect(parseKernelLog(text)).toEqual([
      { address: '0000:05:00.0', ids: '1002:740f', classCode: '038000', values: { group: '12' } },
    ]);
  });

  it('of another machine part is refused', () => {
    expect(() => parseKernelLog('usb 1-1: new device')).toThrow('The log names no PCI function.');
  });
});

it('a record that is added keeps what shares an IOMMU group or a slot, and no other', () => {
  const disk = '0000:02:00.0 144d:a80a 010802 group 7';
  const [mate, slot, other] = ['0000:03:00.0', '0000:02:00.1', '0000:04:00.0'];
  const text = [disk, `${mate} 8086:a323 0c0500 group 7`, `${slot} 8086:a305 0c0330 group 9`];
  expect(toRecord(`${[...text, `${other} 8086:a36f 050000 group 8`].join('\n')}\n`)).toBe(
    `${text.join('\n')}\n`,
  );
  const none = `${other} 8086:a36f 050000 group none\n`;
  expect(toRecord(`${disk.replace('7', 'none')}\n${none}`)).not.toContain(other);
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

  it('with a name that no kernel gives is refused', () => {
    const text = '01:00.0 VGA compatible controller [0300]: x [10de:2489] (driver: ../../../etc)';
    expect(() => toRecord(text)).toThrow('"driver" of 0000:01:00.0 is none of');
  });

  it('of more than 32 MiB is refused', () => {
    expect(() => toRecord('x'.repeat((32 << 20) + 1))).toThrow('It has more than 32 MiB.');
  });

  it('of something else is refused', () => {
    expect(() => parseListing('total 0\n-rw-r--r-- 1 root')).toThrow('no line of `lspci -nn`');
  });
});
