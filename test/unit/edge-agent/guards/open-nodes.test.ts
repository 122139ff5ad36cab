import { beforeEach, describe, expect, it } from 'vitest';
import { openProc } from '#agent/guards/proc.ts';
import { readOpenNodes } from '#agent/guards/uses/open-nodes.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:c1:00.0';
const host = perTest(aGuardedHost);

beforeEach(() => host.tree.addFunction({ address, iommuGroup: 12, driver: 'nvidia' }));
const qemu = { comm: 'qemu-system-x86' };

const check = (wanted?: readonly string[]) => host.check(address, wanted);

const held = 'is open: process 31 (qemu-system-x86) uses /dev/vfio/12';
const start = () => host.proc.addProcess(31, { ...qemu, open: ['/dev/vfio/12'] });
const end = () => host.proc.addProcess(31, { ...qemu, open: [] }).link('31/fd/0', '/dev/null');

describe('a device node that another process has open', () => {
  it.each([
    '/dev/vfio/devices/vfio3',
    '/dev/dri/renderD128',
    '/dev/accel/accel0',
    '/dev/infiniband/uverbs0',
    '/dev/nvme0',
    '/dev/ng0n1',
    '/dev/uio0',
    '/dev/dfl-port.0',
    '/dev/a-class-of-tomorrow0',
  ])('refuses the device that the kernel names for it: %s', async (node) => {
    host.addNode(node.replace('/dev/', ''), address);
    host.proc.addProcess(31, { ...qemu, open: ['/dev/null', node] });
    expect(await check()).toBe(`is open: process 31 (qemu-system-x86) uses ${node}`);
  });

  it('refuses the controllers of an NVMe subsystem, below which the kernel has it', async () => {
    const subsystem = 'devices/virtual/nvme-subsystem/nvme-subsys0';
    host.addEntry('class/nvme/nvme0', address, 'nvme/nvme0');
    host.tree.write(`${subsystem}/ng0n1/uevent`, 'DEVNAME=ng0n1\n');
    host.tree
      .write(`${subsystem}/nvme0/x`, '')
      .link('class/nvme-subsystem/nvme-subsys0', subsystem);
    host.tree.link('dev/char/241:0', `${subsystem}/ng0n1`);
    host.proc.addProcess(31, { ...qemu, open: ['/dev/ng0n1'] });
    expect(await check()).toBe('is open: process 31 (qemu-system-x86) uses /dev/ng0n1');
  });

  it.each(['amdgpu_xcp.39', 'amdgpu_xcp_39'])(
    'refuses all cards of amdgpu, if it is that of a partition: %s',
    async (partition) => {
      const [card, other] = ['0000:05:00.0', '0000:15:00.0'];
      for (const [at, driver] of [
        [card, 'amdgpu'],
        [other, 'vfio-pci'],
      ] as const) {
        host.tree.addFunction({ address: at, driver, vendor: '1002', classCode: '120000' });
      }
      const path = `devices/platform/${partition}/drm/renderD167`;
      host.tree.write(`${path}/uevent`, 'DEVNAME=dri/renderD167\n');
      host.tree.link('dev/char/226:167', path);
      host.proc.addProcess(31, { ...qemu, open: ['/dev/dri/renderD167'] });
      const use = 'is open: process 31 (qemu-system-x86) uses /dev/dri/renderD167';
      expect(await host.check(card)).toBe(use);
      expect(await host.check(other)).toBeUndefined();
    },
  );

  it('refuses all devices of its IOMMU group', async () => {
    host.proc.addProcess(31, { ...qemu, open: ['/dev/vfio/12'] });
    expect(await check()).toBe(held);
  });

  it('refuses the device of a disk', async () => {
    host.addEntry('class/block/nvme0n1', address, 'block/nvme0n1');
    host.proc.addProcess(31, { ...qemu, open: ['/dev/nvme0n1'] });
    expect(await check()).toBe('is open: process 31 (qemu-system-x86) uses /dev/nvme0n1');
  });

  it("refuses its device if NVIDIA's driver alone knows it", async () => {
    host.proc.addProcess(31, { comm: 'Xorg', open: ['/dev/nvidia1', '/dev/nvidiactl'] });
    host.proc.write(`driver/nvidia/gpus/${address}/information`, 'Device Minor: \t 1\n');
    host.proc.write('driver/nvidia/gpus/0000:01:00.0/information', 'Device Minor: \t 0\n');
    expect(await check()).toBe('is open: process 31 (Xorg) uses /dev/nvidia1');
  });

  it.each(['/dev/vfio/13', '/dev/vfio/vfio', '/dev/nvme7', '/dev/dri/card0'])(
    'does not refuse another device: %s',
    async (node) => {
      host.proc.addProcess(31, { open: [node] });
      expect(await check()).toBeUndefined();
    },
  );

  it('of the agent itself does not count', async () => {
    host.proc.addProcess(4711, { open: ['/dev/vfio/12'] });
    expect(await check()).toBeUndefined();
  });
});

it('a function is refused if it is open when it is offered for the first time', async () => {
  start();
  expect(await check()).toBe(held);
  expect(await check()).toBe(held);
  end();
  expect(await check()).toBeUndefined();
});

describe('a function that the agent has offered', () => {
  beforeEach(() => check());

  it('stays offered while a guest has it, also after a restart of the agent', async () => {
    start();
    expect(await check()).toBeUndefined();
    expect(await check()).toBeUndefined();
  });

  it('is refused when it is to be prepared or cleaned while a process has it', async () => {
    start();
    expect(await host.recheck(address)).toBe(held);
  });

  it('is forgotten when the operator takes it back, so that its next holder counts', async () => {
    await check([]);
    start();
    expect(await check()).toBe(held);
  });

  it('is kept in mind while a guest has it and it is refused for another reason', async () => {
    start();
    const methods = `${host.tree.pathOf(address)}/reset_method`;
    host.tree.write(methods, '\n');
    expect(await check()).toContain('no reset method');
    host.tree.write(methods, 'flr\n');
    expect(await check()).toBeUndefined();
  });

  it('is kept in mind while it is not known what uses it, as of a stopped guest', async () => {
    host.addEntry('class/block/nvme0n1', address, 'nvme/nvme0/nvme0n1');
    host.proc.write('self/mountinfo', '1 0 0:1 / /x rw - tmpfs tmpfs rw\n'.repeat(600_000));
    expect(await check()).toContain('may be in use');
    expect((await host.guards()).isOffered(address)).toBe(true);
  });

  it('is refused once it is open, if the list of them is unreadable', async () => {
    host.proc.write('state/offered.json', '{');
    start();
    expect(await check()).toBe(held);
    expect(host.log.lines).toContainEqual(
      expect.objectContaining({ message: 'List of offered functions unreadable' }),
    );
  });
});

describe('a hostile host', () => {
  it('has names that are no text', async () => {
    host.proc.addProcess(31, { comm: 'a\n"b\u0007', open: ['/dev/vfio/12'] });
    expect(await check()).toBe('is open: process 31 (a?"b?) uses /dev/vfio/12');
  });

  it('has processes that cannot be read, and entries that are none', async () => {
    host.proc.write('32/fd', 'no folder').write('33/comm', '').link('34', '35').link('35', '34');
    host.tree.write('class/net/bonding_masters', '').write('class/block/x', '');
    host.tree.write('bus/mdev/devices/x', '').write('fs/btrfs/features', '');
    expect(await check()).toBeUndefined();
  });

  it('has a huge table of mounts', async () => {
    host.addEntry('class/block/nvme0n1', address, 'nvme/nvme0/nvme0n1');
    host.proc.write('self/mountinfo', '1 0 0:1 / /x rw - tmpfs tmpfs rw\n'.repeat(600_000));
    expect(await check()).toBe('may be in use: the mounts of the host cannot be read');
  });

  it('has holders that hold each other', async () => {
    const path = host.addEntry('class/block/dm-1', address, 'block/dm-1');
    host.tree.write(`${path}/holders/dm-1/holders/dm-1/x`, '');
    expect(await check()).toBe('is part of a volume: dm-1 holds dm-1');
  });

  it('has more open files than one pass reads', async () => {
    for (const pid of [31, 32, 33]) host.proc.addProcess(pid, { open: ['/a', '/b', '/c'] });
    const given = { proc: openProc(host.proc.root), ownPid: '1' };
    expect((await readOpenNodes({ ...given, linksMax: 8 })).isPartial).toBe(true);
    expect((await readOpenNodes({ ...given, linksMax: 9 })).isPartial).toBe(false);
  });

  it('has no procfs: nothing is offered that may be in use', async () => {
    host.proc.remove();
    expect(await check()).toBe('may be in use: the open files of the host cannot all be read');
  });
});
