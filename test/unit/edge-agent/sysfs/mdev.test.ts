import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMdevs, MdevNotMade, readMdevTypes } from '#agent/sysfs/mdev.ts';
import { openSysfs, type Sysfs } from '#agent/sysfs/root.ts';
import { aSysfsTree, type SysfsTree } from '#test/support/sysfs.ts';

const address = '0000:3b:00.0';
const uuid = '91ac1606-427e-44bb-8233-f4ff4bf3d241';
const mdev = { address, type: 'nvidia-558', uuid };

let tree: SysfsTree;
beforeEach(() => {
  tree = aSysfsTree().addFunction({ address, driver: 'nvidia' });
  const types = `${tree.pathOf(address)}/mdev_supported_types`;
  tree.write(`${types}/nvidia-558/name`, 'NVIDIA A40-2Q\n');
  tree.write(`${types}/nvidia-558/available_instances`, '24\n');
  tree.write(`${types}/nvidia-558/create`, '');
  tree.write(`${types}/nvidia-560/available_instances`, '0\n');
  mkdirSync(join(tree.root, 'bus/mdev/devices'), { recursive: true });
});
afterEach(() => tree.remove());

/** What a kernel does after a write that it takes. */
function aKernel(given: { readonly makes?: string; readonly removes?: boolean } = {}): Sysfs {
  const { makes = 'nvidia-558', removes = true } = given;
  const sysfs = openSysfs(tree.root);
  return {
    ...sysfs,
    writeAttribute: async (path, text) => {
      await sysfs.writeAttribute(path, text);
      const device = join(tree.root, tree.pathOf(address), uuid);
      const entry = join(tree.root, 'bus/mdev/devices', uuid);
      if (path.endsWith('/create') && makes) {
        mkdirSync(device);
        tree.write(`${tree.pathOf(address)}/${uuid}/remove`, '');
        symlinkSync(`../mdev_supported_types/${makes}`, join(device, 'mdev_type'));
        symlinkSync(`../../../${tree.pathOf(address)}/${uuid}`, entry);
      }
      if (path.endsWith('/remove') && removes) {
        rmSync(entry);
        rmSync(device, { recursive: true });
      }
    },
  };
}

describe('mdevs', () => {
  it('are made, listed and removed', async () => {
    const mdevs = createMdevs(aKernel());
    await mdevs.createMdev(mdev);
    expect(await mdevs.listMdevs()).toEqual([mdev]);
    await mdevs.removeMdev(mdev);
    expect(await mdevs.listMdevs()).toEqual([]);
  });

  it.each(['', 'nvidia-560'])('are not made if the driver makes %j instead', async (makes) => {
    await expect(createMdevs(aKernel({ makes })).createMdev(mdev)).rejects.toThrow(MdevNotMade);
  });

  it('are not removed as long as they are there', async () => {
    const mdevs = createMdevs(aKernel({ removes: false }));
    await mdevs.createMdev(mdev);
    await expect(mdevs.removeMdev(mdev)).rejects.toThrow('still there');
  });

  it('are not made of a type that is not there, and no file is', async () => {
    const mdevs = createMdevs(aKernel());
    const unknown = { ...mdev, type: 'nvidia-1' };
    await expect(mdevs.createMdev(unknown)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(mdevs.removeMdev(mdev)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.each([{ address: '../../etc' }, { type: '..' }, { type: 'a/b' }, { uuid: '../../etc' }])(
    'are not made of %j',
    async (given) => {
      const mdevs = createMdevs(aKernel());
      await expect(mdevs.createMdev({ ...mdev, ...given })).rejects.toThrow(/is not /);
    },
  );

  it('have types, of which some are used up', () => {
    expect(readMdevTypes(aKernel(), address)).toEqual([
      { type: 'nvidia-558', name: 'NVIDIA A40-2Q', available: 24 },
      { type: 'nvidia-560', available: 0 },
    ]);
    expect(readMdevTypes(aKernel(), '0000:17:00.0')).toEqual([]);
  });
});
