import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import { createMdevDriver } from '#agent/drivers/mdev/index.ts';
import { mdevSettings } from '#agent/drivers/mdev/settings.ts';
import type { Guards } from '#agent/guards/guards.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { setUp } from '#agent/process/set-up.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { acceptReport, reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { MdevKernel } from '#test/drivers/mdev/kernel.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { noGuards } from '#test/support/hosts/guarded-host.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { aReport } from '#test/support/reports.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const card = '0000:3b:00.0';
const uuid = '91ac1606-427e-44bb-8233-f4ff4bf3d241';

let kernel: MdevKernel;
const directory = directoryPerTest();

/** Uuids that the frame has marked. */
let prepared: Set<string>;
let guards: Guards;

beforeEach(() => {
  guards = noGuards;
  kernel = new MdevKernel(aSysfsTree().addFunction({ address: card, driver: 'nvidia' }));
  kernel.addParent(card, { capacity: 4, types: { 'nvidia-1': 1, 'nvidia-2': 2 } });
  prepared = new Set();
});

afterEach(() => kernel.tree.remove());

function aDriver(given: object = {}, thing = 'test:cmp1') {
  const settings = mdevSettings.parse({ pools: [{ parents: card, type: 'nvidia-1' }], ...given });
  const context: DriverContext = {
    directory,
    thing,
    bootId: 'boot-1',
    clock: systemClock,
    log: silentLog,
    sysfs: openSysfs(kernel.tree.root),
    hardware: kernel.hardware() as Hardware,
    guards,
    isPrepared: (each) => prepared.has(each),
    prepared: () => [],
  };
  const driver = createMdevDriver(settings, context);
  const discover = async () => {
    const { devices, notOffered = [] } = await driver.discover();
    for (const device of Object.values(devices)) {
      expect(reportedDevice.parse(device)).toEqual(device);
    }
    expect(acceptReport(thing, aReport(Object.values(devices))).refused).toEqual({});
    const handles = devices[card]?.offers?.attach_handles ?? [];
    return { devices, handles, notOffered };
  };
  const clean = async (handle: HandleWork) => driver.clean?.(handle, () => {});
  const makeAll = async () => (await setUp(driver, silentLog)).left;
  return { ...driver, discover, clean, makeAll };
}

/** Four virtual functions of the card, the first with this description of type `a`. */
function addVirtualParents(description: string): void {
  kernel.tree.addVirtualFunctions(card, 4, { product: '2236', driver: 'nvidia' });
  for (const each of ['1', '2', '3', '4']) {
    kernel.addParent(`0000:3b:00.${each}`, { capacity: 1, types: { a: 1 } });
  }
  const type = `${kernel.tree.pathOf('0000:3b:00.1')}/mdev_supported_types/a`;
  kernel.tree.write(`${type}/description`, `${description}\n`);
}

const work = (given: object = {}): HandleWork => ({
  address: card,
  uuid,
  type: 'MDEV',
  info: { asked_type: 'nvidia-1', vgpu_mark: 'nvidia-1_0' },
  ...given,
});

it('sells a parent that has no PCI address, under the name that the kernel gives it', async () => {
  kernel.addParent('mtty', { capacity: 3, types: { 'mtty-1': 1 } });
  const driver = aDriver({ pools: [{ parents: 'mtty', type: 'mtty-1' }] });
  await driver.makeAll();
  const { mtty } = (await driver.discover()).devices;
  expect(mtty).toMatchObject({ address: 'mtty', vendor: 'linux', product: 'mtty' });
  expect(mtty?.offers).toMatchObject({ pool: 'mtty-1', traits: ['CUSTOM_LINUX_MTTY_MTTY_1'] });
  const handles = mtty?.offers?.attach_handles ?? [];
  expect(handles.map(({ info }) => info)).toEqual(
    [0, 1, 2].map((mark) => ({ asked_type: 'mtty-1', vgpu_mark: `mtty-1_${mark}` })),
  );
  const [first] = handles;
  const handle = work({ address: 'mtty', uuid: first?.uuid, info: first?.info });
  expect(await driver.find?.(handle)).toEqual({ state: 'ready', info: first?.info });
  expect(await driver.clean(handle)).toMatchObject({ recreated: true, parent: 'mtty' });
});

describe('mdevs made ahead', () => {
  it('are as many as fit, each the mdev of its handle', async () => {
    const driver = aDriver();
    expect(await driver.makeAll()).toEqual([]);
    const { handles } = await driver.discover();
    expect(handles.map((handle) => handle.uuid)).toEqual(kernel.uuids());
    expect(handles).toHaveLength(4);
    expect(handles[0]).toMatchObject({ type: 'MDEV', prepare: 'ahead', clean_seconds: 300 });
    // A host that has them keeps them: no release derives others.
    expect(handles[3]?.uuid).toBe('923f8430-e065-83dc-8572-000000000003');
  });

  it('are not made on a card that a server has', async () => {
    const held = new Map([[card, 'belongs to a server: the domain x of libvirt has it']]);
    const asked: string[][] = [];
    guards = {
      ...noGuards,
      ofServers: async (functions) => {
        asked.push(functions.map(({ address }) => address));
        return { held, unknown: 'libvirt cannot be read' };
      },
    };
    const [left] = await aDriver().makeAll();
    expect(left).toContain(`${card} belongs to a server: the domain x of libvirt has it`);
    expect(kernel.uuids()).toEqual([]);
    const [reason] = held.values();
    expect((await aDriver().discover()).notOffered).toEqual([{ address: card, reason }]);
    expect(new Set(asked.flat())).toEqual(new Set([card]));
    // What else is unknown keeps no card: the mdevs of its servers are missing after a boot.
    held.clear();
    expect(await aDriver().makeAll()).toEqual([]);
    const { handles } = await aDriver().discover();
    expect(handles).toHaveLength(4);
    held.set(card, 'belongs to a server: the domain x of libvirt has it');
    expect((await aDriver().discover()).handles).toEqual(handles);
  });

  it('are other ones on another host', async () => {
    await aDriver().makeAll();
    const here = kernel.uuids();
    kernel.reboot();
    await aDriver({}, 'test:cmp2').makeAll();
    expect(kernel.uuids().filter((each) => here.includes(each))).toEqual([]);
  });

  it('are not cleaned by a job where the settings say that the vendor erases them', async () => {
    const driver = aDriver({ clean: 'none' });
    await driver.makeAll();
    expect((await driver.discover()).handles[0]).not.toHaveProperty('clean_seconds');
  });

  it('are removed and recreated by cleaning, and offered meanwhile', async () => {
    const driver = aDriver();
    await driver.makeAll();
    const { handles } = await driver.discover();
    const handle = work({ uuid: handles[1]?.uuid, info: handles[1]?.info });
    kernel.writes.length = 0;
    expect(await driver.clean(handle)).toEqual({ removed: true, recreated: true, parent: card });
    expect(kernel.writes).toEqual([`${handle.uuid}/remove 1`, `nvidia-1/create ${handle.uuid}`]);
    expect((await driver.discover()).handles).toEqual(handles);
  });

  it('that cannot be recreated are not offered until the next set-up has made them', async () => {
    const driver = aDriver();
    await driver.makeAll();
    const { handles } = await driver.discover();
    kernel.faults.set('/create', 'EIO');
    const handle = work({ uuid: handles[0]?.uuid, info: handles[0]?.info });
    await expect(driver.clean(handle)).rejects.toMatchObject({ code: 'EIO' });
    expect((await driver.discover()).handles).toHaveLength(3);
    expect(await driver.makeAll()).toEqual([]);
    expect((await driver.discover()).handles).toEqual(handles);
  });

  it('that the kernel refuses are a sentence, and the others are offered', async () => {
    kernel.faults.set('/create', 'EIO');
    const driver = aDriver();
    expect(await driver.makeAll()).toEqual([
      expect.stringMatching(
        /^The number of mdevs of type nvidia-1 of 0000:3b:00\.0 is 0, not 4: EIO/,
      ),
    ]);
    await driver.makeAll();
    expect((await driver.discover()).handles).toHaveLength(4);
  });
});

describe('the plan of mdevs made ahead', () => {
  const change = { address: card, what: 'number of mdevs of type nvidia-1' };

  it('goes on where a set-up ended half way', async () => {
    await aDriver().makeAll();
    const [, second = ''] = kernel.uuids();
    kernel.reboot();
    kernel.make(card, 'nvidia-1', second);
    expect(await aDriver().plan?.()).toMatchObject([{ ...change, before: '1', after: '4' }]);
    expect(await aDriver().makeAll()).toEqual([]);
    expect(kernel.uuids()).toHaveLength(4);
  });

  it('is refused while another program divides the card', async () => {
    kernel.make(card, 'nvidia-2', uuid);
    const refusal = `${card} has the mdev ${uuid}, which another program has made`;
    expect(await aDriver().plan?.()).toEqual([{ ...change, before: '0', after: '2', refusal }]);
  });

  it('leaves the room of an mdev that a job is recreating', async () => {
    const driver = aDriver();
    await driver.makeAll();
    const { handles } = await driver.discover();
    const handle = work({ uuid: handles[1]?.uuid, info: handles[1]?.info });
    let planned: unknown;
    kernel.afterRemove = async () => {
      planned = await driver.plan?.();
    };
    await driver.clean(handle);
    expect(planned).toEqual([]);
  });

  it('is as much as the card holds, not as much as its virtual functions', async () => {
    addVirtualParents('num_heads=4, max_instance=2');
    const driver = aDriver({ pools: [{ parents: card, type: 'a' }] });
    expect(await driver.plan?.()).toHaveLength(2);
    await driver.makeAll();
    expect(await driver.plan?.()).toEqual([]);
    expect((await driver.discover()).handles.map(({ uuid }) => uuid)).toEqual(kernel.uuids());
  });

  it('says of a parent that cannot be read why, and plans the others', async () => {
    const other = '0000:5e:00.0';
    kernel.tree.addFunction({ address: other, driver: 'nvidia' });
    kernel.addParent(other, { capacity: 2, types: { 'nvidia-1': 1 } });
    rmSync(
      join(
        kernel.tree.root,
        `${kernel.tree.pathOf(card)}/mdev_supported_types/nvidia-1/available_instances`,
      ),
    );
    const driver = aDriver({ pools: [{ parents: [card, other], type: 'nvidia-1' }] });
    expect(await driver.plan?.()).toMatchObject([
      { ...change, refusal: expect.stringContaining('it cannot be read') as string },
      { ...change, address: other, before: '0', after: '2' },
    ]);
  });
});

describe('mdevs made at binds', () => {
  it('are offered as long as one fits, and carry the uuid of the handle', async () => {
    const driver = aDriver({ made: 'at-bind' });
    expect(await driver.makeAll()).toEqual([]);
    expect((await driver.discover()).handles).toHaveLength(4);
    expect(await driver.find?.(work())).toEqual({ state: 'absent' });
    await driver.prepare?.(work());
    prepared.add(uuid);
    expect(kernel.uuids()).toEqual([uuid]);
    expect(await driver.find?.(work())).toMatchObject({ state: 'ready' });
    expect((await driver.discover()).handles).toHaveLength(4);
    expect(await driver.clean(work())).toMatchObject({ removed: true });
    expect(kernel.uuids()).toEqual([]);
  });

  it('with another type or parent are found as others', async () => {
    kernel.make(card, 'nvidia-2', uuid);
    const found = await aDriver({ made: 'at-bind' }).find?.(work());
    expect(found).toEqual({ state: 'other', what: `an mdev of type nvidia-2 on ${card}` });
  });

  it('are not taken for absent while a program keeps their removal from its end', async () => {
    const driver = aDriver({ made: 'at-bind' });
    await driver.prepare?.(work());
    rmSync(join(kernel.tree.root, 'bus/mdev/devices', uuid));
    await expect(driver.find?.(work())).rejects.toThrow(`EBUSY: ${uuid} is open`);
  });

  it('fail with the error of the kernel', async () => {
    const driver = aDriver({ made: 'at-bind' });
    kernel.faults.set('/create', 'ENOSPC');
    await expect(driver.prepare?.(work())).rejects.toMatchObject({ code: 'ENOSPC' });
  });

  it('on virtual functions are as many as the card holds, not as many as the functions', async () => {
    addVirtualParents('num_heads=4, framebuffer=2048M, max_instance=2');
    const driver = aDriver({ made: 'at-bind', pools: [{ parents: card, type: 'a' }] });
    expect((await driver.discover()).handles).toHaveLength(2);
  });

  it('are on the virtual function that has room, which the handle then names', async () => {
    kernel.tree.addVirtualFunctions(card, 2, { product: '2236', driver: 'nvidia' });
    const [first, second] = ['0000:3b:00.1', '0000:3b:00.2'] as const;
    for (const each of [first, second]) kernel.addParent(each, { capacity: 1, types: { a: 1 } });
    kernel.make(first, 'a', 'a1ac1606-427e-44bb-8233-f4ff4bf3d241');
    prepared.add('a1ac1606-427e-44bb-8233-f4ff4bf3d241');
    const driver = aDriver({ made: 'at-bind', pools: [{ parents: card, type: 'a' }] });
    expect((await driver.discover()).handles).toHaveLength(2);
    const info = { asked_type: 'a', function: '1' };
    const chosen = await driver.prepare?.(work({ info }));
    expect(chosen?.info).toMatchObject({ bus: '3b', function: '2', asked_type: 'a' });
    expect(await driver.find?.(work({ info }))).toMatchObject({
      state: 'ready',
      info: chosen?.info,
    });
  });
});

describe('a card is not offered', () => {
  it.each([
    ['that has no mdev types', { parents: '0000:5e:00.0', type: 'nvidia-1' }, 'has no mdev types'],
    ['without the type', { parents: card, type: 'nvidia-9' }, 'it has nvidia-1, nvidia-2'],
  ])('%s', async (_name, pool, reason) => {
    const { devices, notOffered } = await aDriver({ pools: [pool] }).discover();
    expect(devices).toEqual({});
    expect(notOffered).toEqual([
      { address: pool.parents, reason: expect.stringContaining(reason) as string },
    ]);
  });

  it.each(['ahead', 'at-bind'])('that has an mdev of another program: %s', async (made) => {
    kernel.make(card, 'nvidia-2', uuid);
    const driver = aDriver({ made });
    await driver.makeAll();
    const { devices, notOffered } = await driver.discover();
    expect(devices).toEqual({});
    expect(notOffered).toEqual([
      { address: card, reason: `has the mdev ${uuid}, which another program has made` },
    ]);
    expect(kernel.uuids()).toEqual([uuid]);
  });

  it('as a second type', async () => {
    kernel.tree.addVirtualFunctions(card, 1, { driver: 'nvidia' });
    const vf = '0000:3b:00.1';
    kernel.addParent(vf, { capacity: 1, types: { a: 1 } });
    const pools = [
      { parents: card, type: 'nvidia-1' },
      { parents: vf, type: 'a' },
    ];
    expect((await aDriver({ pools }).discover()).notOffered).toEqual([
      { address: vf, reason: 'has type nvidia-1 already; a card has one type' },
    ]);
  });
});
