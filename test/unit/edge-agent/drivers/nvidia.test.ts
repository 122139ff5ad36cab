import { beforeEach, describe, expect, it } from 'vitest';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import { parseFramebuffer, typeTraitPart } from '#agent/drivers/nvidia/facts.ts';
import { createNvidiaDriver } from '#agent/drivers/nvidia/index.ts';
import { nvidiaSettings } from '#agent/drivers/nvidia/settings.ts';
import { parseTypes } from '#agent/drivers/nvidia/vfio.ts';
import { setUp } from '#agent/process/set-up.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { VendorVgpuKernel } from '#test/drivers/nvidia/kernel.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { directoryPerTest, perTest } from '#test/support/vitest/shared.ts';

const card = '0000:41:00.0';
const functions = [1, 2, 3, 4].map((number) => `0000:41:00.${number}`);
const types = { 1145: ['NVIDIA L40S-1B', 1], 1147: ['NVIDIA L40S-2Q', 2] } as const;
const vgpus = { addresses: card, vgpu_type: 'nvidia-1147' };

const host = perTest(aGuardedHost);
let kernel: VendorVgpuKernel;
const directory = directoryPerTest();
let bootId = 'boot-1';

beforeEach(() => {
  kernel = new VendorVgpuKernel(host.tree);
  bootId = 'boot-1';
});

async function aDriver(given: object = {}) {
  const settings = nvidiaSettings.parse({ cards: [vgpus], attach_unmanaged: true, ...given });
  const hardware = { ...host.hardware, ...kernel.hardware() };
  const context = await host.context({ directory, bootId, hardware });
  const driver = createNvidiaDriver(settings, context);
  const discover = async () => {
    const { devices, notOffered = [] } = await driver.discover();
    for (const device of Object.values(devices)) {
      expect(reportedDevice.parse(device)).toEqual(device);
    }
    const handles = devices[card]?.offers?.attach_handles ?? [];
    return { device: devices[card], devices, handles, reasons: notOffered.map((n) => n.reason) };
  };
  const clean = async (handle: HandleWork) => driver.clean?.(handle, () => {});
  return { ...driver, discover, clean, setUp: () => setUp(driver, host.log) };
}

/** The driver has set the types. */
async function setUpAndDiscover() {
  const driver = await aDriver();
  await driver.setUp();
  return { driver, ...(await driver.discover()) };
}

const work = (info: Record<string, string>): HandleWork => ({
  address: card,
  uuid: '91ac1606-427e-44bb-8233-f4ff4bf3d241',
  type: 'PCI',
  info,
});

const aCard = () => kernel.addCard(card, { memory: 4, types }, 4);

describe('types of vGPUs on virtual functions', () => {
  beforeEach(() => void aCard().enable(card));

  it('are set ahead on as many as fit, and are the same after a boot', async () => {
    const driver = await aDriver();
    expect((await driver.setUp()).left).toEqual([]);
    expect(kernel.types()).toEqual({ [`${functions[0]}`]: '1147', [`${functions[1]}`]: '1147' });
    const { device, handles } = await driver.discover();
    expect(device).toMatchObject({ driver: 'nvidia_gpu', attributes: { framebuffer_mib: '2048' } });
    expect(device?.offers).toMatchObject({ pool: 'nvidia-1147', resource_class: 'VGPU' });
    expect(device?.offers?.traits).toContain('CUSTOM_NVIDIA_26B9_L40S_2Q');
    expect(handles.map(({ info }) => info.managed)).toEqual(['no', 'no']);
    expect(handles.map(({ type, prepare, info }) => [type, prepare, info.function])).toEqual([
      ['PCI', 'ahead', '1'],
      ['PCI', 'ahead', '2'],
    ]);
    kernel.boot();
    bootId = 'boot-2';
    const after = await aDriver();
    await after.setUp();
    expect((await after.discover()).device).toEqual(device);
  });

  it('are not offered, and not touched, beside one that another program has set', async () => {
    kernel.set(functions[3] ?? '', '1145');
    const driver = await aDriver();
    const { left } = await driver.setUp();
    expect(left).toEqual([expect.stringContaining('another program has set it')]);
    expect(kernel.types()).toEqual({ [`${functions[3]}`]: '1145' });
    expect((await driver.discover()).reasons).toEqual([
      `has the vGPU type 1145 on ${functions[3]}, which another program has set`,
    ]);
  });

  it('of a board with NVSwitches are offered after the operator set its mode', async () => {
    const nvswitch = { address: '0000:07:00.0', product: '22a3', classCode: '068000' };
    host.tree.addFunction(nvswitch);
    const driver = await aDriver();
    await driver.setUp();
    const { handles, reasons } = await driver.discover();
    expect(handles).toEqual([]);
    expect(reasons).toEqual([expect.stringContaining('set its mode for vGPUs (FABRIC_MODE=2)')]);
    const ready = await aDriver({ cards: [{ ...vgpus, fabric_ready: true }] });
    await ready.setUp();
    expect((await ready.discover()).handles).toHaveLength(2);
  });

  it('are set again after a write that had no effect', async () => {
    kernel.fault = 'ignored';
    const driver = await aDriver();
    const { left } = await driver.setUp();
    expect(left).toEqual([expect.stringContaining(`${functions[0]} is 0, not 1147`)]);
    expect((await driver.discover()).handles).toEqual([]);
    await driver.setUp();
    expect(Object.values(kernel.types())).toEqual(['1147', '1147']);
  });

  it('are cleared and set again for the next holder', async () => {
    const { driver, handles } = await setUpAndDiscover();
    kernel.writes.length = 0;
    const evidence = await driver.clean(work(handles[0]?.info ?? {}));
    expect(evidence).toEqual({ cleared: true, vgpu_type: 'nvidia-1147' });
    expect(kernel.writes).toEqual([`${functions[0]} 0`, `${functions[0]} 1147`]);
    expect((await driver.discover()).handles).toEqual(handles);
  });

  it('are not cleared while a guest has the function open', async () => {
    const { driver, handles } = await setUpAndDiscover();
    kernel.open.add(functions[0] ?? '');
    await expect(driver.clean(work(handles[0]?.info ?? {}))).rejects.toMatchObject({
      code: 'EBUSY',
    });
    expect(Object.values(kernel.types())).toEqual(['1147', '1147']);
  });

  it('of another program are not cleared by a late job', async () => {
    kernel.set(functions[0] ?? '', '1147');
    const info = { domain: '0000', bus: '41', device: '00', function: '1' };
    await expect((await aDriver()).clean(work(info))).rejects.toThrow('another program has set');
    expect(kernel.types()).toEqual({ [`${functions[0]}`]: '1147' });
  });

  it('change with the settings, once no guest can have the function', async () => {
    const before = await aDriver();
    await before.setUp();
    await before.discover();
    const other = { cards: [{ ...vgpus, vgpu_type: 'nvidia-1145' }] };
    const refused = await (await aDriver(other)).setUp();
    expect(refused.left).toEqual(
      [0, 1].map((index) => expect.stringMatching(`${functions[index]}.*to guests as nvidia-1147`)),
    );
    // Also after a boot, which clears the types: a server that is off expects the earlier one.
    kernel.boot();
    bootId = 'boot-2';
    await (await aDriver(other)).setUp();
    expect(kernel.types()).toEqual({ [`${functions[2]}`]: '1145', [`${functions[3]}`]: '1145' });
    await (await aDriver({ cards: [{ addresses: '0000:c1:00.0' }] })).discover();
    await (
      await aDriver({ cards: [{ addresses: '0000:c2:00.0', vgpu_type: 'nvidia-1' }] })
    ).discover();
    expect((await (await aDriver(other)).setUp()).left).toEqual([]);
    expect(Object.values(kernel.types())).toEqual(['1145', '1145', '1145', '1145']);
  });

  it('are not offered to a Nova that has libvirt manage the function', async () => {
    const driver = await aDriver({ attach_unmanaged: false });
    expect((await driver.setUp()).applied).toEqual([]);
    const { reasons } = await driver.discover();
    expect(reasons).toEqual([expect.stringContaining('see attach_unmanaged')]);
  });
});

describe('virtual functions that NVIDIA makes by its script', () => {
  beforeEach(() => aCard());

  it('have their types after the set-up', async () => {
    const driver = await aDriver();
    expect((await driver.setUp()).left).toEqual([]);
    expect(kernel.writes[0]).toBe(`/usr/lib/nvidia/sriov-manage -e ${card}`);
    expect((await driver.discover()).handles).toHaveLength(2);
    expect(await driver.plan?.()).toEqual([]);
  });

  it('wait for a script that fails, with what it says', async () => {
    kernel.fault = 'EBUSY';
    const { left } = await (await aDriver()).setUp();
    expect(left).toEqual([expect.stringContaining('Cannot obtain unbindLock for 0000:41:00.0')]);
  });
});

describe('the table of types', () => {
  it.each<[string, string, [string, string][]]>([
    ['with a header', 'ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n', [['1145', 'NVIDIA L40S-1B']]],
    ['with the name first', 'NVIDIA A40-2Q   558\n', [['558', 'NVIDIA A40-2Q']]],
    ['of a full card', 'ID    : vGPU Name\n', []],
    ['that is empty', '', []],
  ])('is read %s', (_what, text, expected) => {
    expect([...parseTypes(text)]).toEqual(expected);
  });
});

it.each([
  ['NVIDIA A40-2Q', 'A40_2Q', 2048],
  ['GRID T4-2B', 'T4_2B', 2048],
  ['NVIDIA A100-1-5CME', 'A100_1_5CME', 5120],
  ['GRID M60-0Q', 'M60_0Q', 512],
])('the type %s gives the trait and the frame buffer of its name', (name, part, mebibytes) => {
  expect([typeTraitPart(name), parseFramebuffer(name, undefined)]).toEqual([part, mebibytes]);
});

describe('a whole card', () => {
  const whole = { cards: [{ addresses: card, bind_to: 'vfio-pci' }] };

  it('is offered with a reset, and its audio function belongs to it', async () => {
    host.tree.addFunction({ address: card, iommuGroup: 7 });
    host.tree.addFunction({ address: '0000:41:00.1', classCode: '040300', iommuGroup: 7 });
    const { device, handles } = await (await aDriver(whole)).discover();
    expect(device?.offers).toMatchObject({ resource_class: 'PGPU' });
    expect(device?.offers?.traits).toContain('CUSTOM_NVIDIA_2235');
    expect(handles).toMatchObject([{ type: 'PCI', clean_seconds: 300 }]);
  });

  it('is planned to be bound together with its audio and USB functions, and no other', async () => {
    host.tree.addFunction({ address: card, driver: 'nvidia' });
    host.tree.addFunction({ address: '0000:41:00.1', classCode: '040300', driver: 'snd_hda' });
    host.tree.addFunction({ address: '0000:41:00.2', classCode: '0c0330', driver: 'xhci_hcd' });
    host.tree.addFunction({ address: '0000:41:00.3', classCode: '020000', driver: 'ixgbe' });
    const planned = (await (await aDriver(whole)).plan?.()) ?? [];
    expect(planned.map(({ address, what, after }) => `${address} ${what} ${after}`)).toEqual(
      ['0', '1', '2'].map((fn) => `0000:41:00.${fn} driver vfio-pci`),
    );
  });

  it('has the health of its PCIe counters', async () => {
    host.tree.addFunction({ address: card });
    const path = host.tree.pathOf(card);
    host.tree.write(`${path}/aer_dev_nonfatal`, 'DLP 1\nTOTAL_ERR_NONFATAL 1\n');
    const driver = await aDriver(whole);
    expect((await driver.discover()).device?.health).toMatchObject({ state: 'degraded' });
    host.tree.write(`${path}/aer_dev_fatal`, 'DLP 2\nTOTAL_ERR_FATAL 2\n');
    expect((await driver.discover()).device?.health).toMatchObject({
      state: 'unhealthy',
      reason: 'has had 2 fatal PCIe errors since the boot',
    });
  });
});

describe("what NVIDIA's driver tells of a card", () => {
  beforeEach(() => void aCard().enable(card));

  const information = (lines: string) =>
    host.proc.write(`driver/nvidia/gpus/${card}/information`, lines);
  const known =
    'Model: \t\t NVIDIA L40S\nIRQ:   \t\t 190\nGPU UUID: \t GPU-0f1a2b3c-0000-4000-8000-00000000000a\n' +
    'Video BIOS: \t 95.02.66.00.01\nBus Location: \t 0000:41:00.0\nGPU Excluded:\t No\n';

  it('is in the report', async () => {
    information(known);
    const { device } = await setUpAndDiscover();
    expect(device).toMatchObject({
      model: 'NVIDIA L40S',
      firmware: '95.02.66.00.01',
      identity: 'GPU-0f1a2b3c-0000-4000-8000-00000000000a',
      attributes: { uuid: 'GPU-0f1a2b3c-0000-4000-8000-00000000000a' },
    });
  });

  it('is left out as long as the driver does not know it', async () => {
    information('GPU UUID: \t GPU-????????-????-????-????-????????????\nVideo BIOS: \t ??.??\n');
    const { device } = await (await aDriver()).discover();
    expect(device).not.toHaveProperty('identity');
    expect(device).not.toHaveProperty('firmware');
  });

  it('keeps a card from being offered that the operator excluded', async () => {
    information(known.replace('Excluded:\t No', 'Excluded:\t Yes'));
    expect((await (await aDriver()).discover()).reasons).toEqual([
      "is excluded from NVIDIA's driver",
    ]);
  });
});
