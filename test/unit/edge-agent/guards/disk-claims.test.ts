import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const at = '0000:c1:00.0';
const entry = { vendor_id: '1344', product_id: '51c0', bind_to: 'vfio-pci' };
const host = perTest(aGuardedHost);
let asked: string[];

function addBlock(name: string, number: string, partition?: number): void {
  const path = host.addEntry(`class/block/${name}`, at, `nvme/nvme0/nvme0n1/${name}`);
  host.tree.write(`${path}/dev`, `${number}\n`);
  if (partition !== undefined) host.tree.write(`${path}/partition`, `${partition}\n`);
}

beforeEach(() => {
  asked = [];
  const ids = { vendor: '1344', product: '51c0', classCode: '010802', driver: 'nvme' };
  host.tree.addFunction({ address: at, ...ids });
  addBlock('nvme0n1', '259:0');
  for (const part of [1, 2, 3]) addBlock(`nvme0n1p${part}`, `259:${part}`, part);
});

/** A host whose helper answers so; without an answer it has no helper. */
function withHelper(answer?: () => Promise<string>): Hardware {
  return {
    ...host.hardware,
    isInstalled: () => answer !== undefined,
    help: async (_device, args) => {
      asked.push(args.join(' '));
      return (await answer?.()) ?? '';
    },
  };
}

/** Why the device is not offered, which is why it is not bound, too. */
async function refusal(hardware: Hardware): Promise<string | undefined> {
  const driver = await host.pciDriver([entry], hardware);
  const plan = (await driver.plan?.()) ?? [];
  const { notOffered = [], devices } = await driver.discover();
  const reason = notOffered.find(({ address }) => address === at)?.reason;
  const refused = plan.map((each) => ('refusal' in each ? each.refusal : undefined));
  expect(refused).toEqual([reason && `${at} ${reason}`]);
  expect(Object.keys(devices)).toEqual(reason === undefined ? [at] : []);
  return reason;
}

const fails = (code: string) => async () => {
  throw new HardwareError(code, 'the helper refused');
};

describe('a disk without a use that the kernel shows', () => {
  it('is offered if nothing else says that it is used', async () => {
    expect(await refusal(withHelper())).toBeUndefined();
  });

  it('is asked for by an exclusive open of the disk, not of its parts', async () => {
    expect(await refusal(withHelper(async () => ''))).toBeUndefined();
    expect(new Set(asked)).toEqual(new Set(['disk-claim /dev/nvme0n1']));
  });

  it('is refused if the kernel has it claimed', async () => {
    expect(await refusal(withHelper(fails('EBUSY')))).toBe(
      'is in use by the kernel: nvme0n1, or a partition of it, cannot be opened exclusively (a file system, a volume, or a pool of ZFS)',
    );
  });

  it.each(['EIO', 'ETIMEDOUT', 'EACCES'])('is refused if its open fails by %s', async (code) => {
    expect(await refusal(withHelper(fails(code)))).toBe(
      `may be in use: nvme0n1 cannot be opened (${code})`,
    );
  });
});

describe('a pool of ZFS', () => {
  beforeEach(() => {
    host.proc.write('spl/kstat/zfs/arcstats', '');
    host.proc.write(
      'self/mountinfo',
      '25 1 0:24 / / rw,relatime shared:1 - zfs rpool/ROOT/pve-1 rw,xattr,noacl\n',
    );
  });
  const importPool = () => host.proc.write('spl/kstat/zfs/rpool/state', 'ONLINE\n');
  const reason =
    'may be part of a pool of ZFS: rpool is imported, and the agent cannot see what nvme0n1p1 is for';

  it.each([
    ['no helper', undefined],
    ['an older helper', fails('EINVAL')],
    ['no node of the disk', fails('ENOENT')],
  ])('refuses disks with partitions while it is imported: %s', async (_what, answer) => {
    expect(await refusal(withHelper(answer))).toBeUndefined();
    importPool();
    expect(await refusal(withHelper(answer))).toBe(reason);
  });

  it('refuses no disk that the kernel says is free, and none without partitions', async () => {
    importPool();
    expect(await refusal(withHelper(async () => ''))).toBeUndefined();
    for (const part of [1, 2, 3]) rmSync(join(host.tree.root, `class/block/nvme0n1p${part}`));
    expect(await refusal(withHelper())).toBeUndefined();
  });

  it('is named after a use that is known', async () => {
    importPool();
    host.proc.write('self/mountinfo', '36 1 259:1 / /boot rw - ext4 /dev/nvme0n1p1 rw\n');
    expect(await refusal(withHelper(fails('EBUSY')))).toBe(
      'has a mounted file system: nvme0n1p1 at /boot',
    );
    expect(asked).toEqual([]);
  });
});

describe('a disk that the host exports', () => {
  const namespace = 'kernel/config/nvmet/subsystems/testnqn/namespaces/1';

  it('is refused, whole or in part', async () => {
    host.tree.write(`${namespace}/device_path`, '/dev/nvme0n1p2\n');
    host.tree.write(`${namespace}/enable`, '1\n');
    expect(await refusal(withHelper())).toBe(
      'is exported by the host: the NVMe target uses nvme0n1p2',
    );
    host.tree.write(`${namespace}/enable`, '0\n');
    expect(await refusal(withHelper())).toBeUndefined();
  });

  it('is refused if a target of SCSI has it, or a link that may be its', async () => {
    const target = 'kernel/config/target/core/iblock_0/disk0/udev_path';
    host.tree.write(target, '/dev/nvme0n1\n');
    expect(await refusal(withHelper())).toContain('the SCSI target uses nvme0n1');
    host.tree.write(target, '/dev/disk/by-id/nvme-eui.01\n');
    expect(await refusal(withHelper())).toBe(
      'may be in use: the SCSI target exports /dev/disk/by-id/nvme-eui.01, which is no name of a disk',
    );
    host.tree.write(target, '/dev/vg0/volume\n');
    expect(await refusal(withHelper())).toBeUndefined();
  });

  it('is known by the links of the host to its disks', async () => {
    const link = '/dev/disk/by-id/nvme-eui.01';
    host.tree.write('kernel/config/target/core/fileio_0/disk0/udev_path', `${link}\n`);
    host.proc.link(`1/root${link}`, '../../sda');
    expect(await refusal(withHelper())).toBeUndefined();
    host.proc.link(`1/root${link}`, '../../nvme0n1p2');
    expect(await refusal(withHelper())).toBe(
      'is exported by the host: the SCSI target uses nvme0n1p2',
    );
    for (const target of [link, '/run/nowhere']) {
      host.proc.link(`1/root${link}`, target);
      expect(await refusal(withHelper())).toContain('may be in use');
    }
  });

  it('is refused if a target of SCSI has its generic node', async () => {
    const hba = { vendor: '1000', product: '00af', classCode: '010700', driver: 'mpt3sas' };
    const address = '0000:c2:00.0';
    host.tree.addFunction({ address, ...hba });
    const device = 'host0/target0:0:1/0:0:1:0';
    host.addEntry('class/block/sda', address, `${device}/block/sda`);
    const generic = host.addEntry('class/scsi_generic/sg1', address, `${device}/scsi_generic/sg1`);
    host.tree.link(`${generic}/device`, `${host.tree.pathOf(address)}/${device}`);
    expect(await host.check(address)).toBeUndefined();
    host.tree.write('kernel/config/target/core/pscsi_0/disk0/udev_path', '/dev/sg1\n');
    expect(await host.check(address)).toContain('the SCSI target uses sda');
  });

  // open-iscsi/rtslib-fb#4: a disk may be behind a backstore for files, which does not claim it.
  it.each(['fileio_0', 'pscsi_1'])('is refused if the backstore is %s', async (backstore) => {
    host.tree.write(`kernel/config/target/core/${backstore}/disk0/udev_path`, '/dev/nvme0n1p1\n');
    host.tree.write('kernel/config/target/core/rd_mcp_2/memory/info', '');
    expect(await refusal(withHelper(async () => ''))).toBe(
      'is exported by the host: the SCSI target uses nvme0n1p1',
    );
  });

  it('is refused if the NVMe target passes commands through to its controller', async () => {
    host.addEntry('class/nvme/nvme0', at, 'nvme/nvme0');
    const passthru = 'kernel/config/nvmet/subsystems/testnqn/passthru';
    host.tree.write(`${passthru}/device_path`, '/dev/nvme0\n');
    host.tree.write(`${passthru}/enable`, '1\n');
    expect(await refusal(withHelper(async () => ''))).toBe(
      'is exported by the host: the NVMe target uses nvme0',
    );
    host.tree.write(`${passthru}/enable`, '0\n');
    expect(await refusal(withHelper(async () => ''))).toBeUndefined();
  });
});

// axboe/fio#1820: an exclusive open does not see who has opened the disk without a claim.
describe('a disk below a loop device', () => {
  it('is refused, whole or in part, although nothing has claimed it', async () => {
    host.tree.write('class/block/loop0/loop/backing_file', '/srv/image.raw\n');
    host.tree.write('class/block/loop1/size', '0\n');
    expect(await refusal(withHelper(async () => ''))).toBeUndefined();
    for (const block of ['nvme0n1', 'nvme0n1p2']) {
      host.tree.write('class/block/loop1/loop/backing_file', `/dev/${block}\n`);
      expect(await refusal(withHelper(async () => ''))).toBe(
        `is part of a volume: loop1 holds ${block}`,
      );
    }
  });
});
