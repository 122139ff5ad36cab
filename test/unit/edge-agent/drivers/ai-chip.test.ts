import { beforeEach, describe, expect, it } from 'vitest';
import { aiChips } from '#agent/drivers/by-model/ai-chips.ts';
import { createModelDriver } from '#agent/drivers/by-model/driver.ts';
import { modelIds, modelRow } from '#agent/drivers/by-model/rows.ts';
import { modelSettings } from '#agent/drivers/by-model/settings.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import type { PciFunctionGiven, SysfsTree } from '#test/support/hosts/sysfs.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:3b:00.0';
const ascend310 = { address, vendor: '19e5', product: 'd100', classCode: '120000' };
const mi300x = { address, vendor: '1002', product: '74a1', classCode: '120000', driver: 'gim' };
const mi300xVirtual = { vendor: '1002', product: '74b5', classCode: '120000' };
const myRow = {
  name: 'My NPU',
  vendor_id: '0x1AE0',
  product_ids: ['0001'],
  resource_class: 'CUSTOM_MY_NPU',
};

const host = perTest(aGuardedHost);
let tree: SysfsTree;

beforeEach(() => {
  tree = host.tree;
});

async function driverOf(devices: object[], rows: object[] = []) {
  const settings = modelSettings(aiChips).parse({ devices, rows });
  return createModelDriver(aiChips, settings, await host.context());
}

async function discover(devices: object[], rows: object[] = []) {
  return await (await driverOf(devices, rows)).discover();
}

/** The sentence of each fault, by its path. */
function faultsOf(settings: unknown): Record<string, string> {
  const issues = modelSettings(aiChips).safeParse(settings).error?.issues ?? [];
  return Object.fromEntries(issues.map(({ path, message }) => [path.join('.'), message]));
}

const rows = aiChips.rows.map((row) => modelRow.parse(row));
const ids = rows.flatMap((row) => modelIds(row).map((id) => [id, row.name, row] as const));

describe('the table of AI processors', () => {
  it('has each id once, and a source for each row', () => {
    expect(new Set(ids.map(([id]) => id)).size).toBe(ids.length);
    expect(rows.filter(({ source = '' }) => source === '')).toEqual([]);
  });

  it('resets every model after each guest', () => {
    expect(new Set(rows.map(({ clean }) => clean))).toEqual(new Set(['reset']));
  });

  it.each(ids)('%s is offered as %s', async (id, model, row) => {
    const [vendor = '', product = ''] = id.split(':');
    const fn: PciFunctionGiven = { address, vendor, product, classCode: '120000' };
    if (row.function === 'physical') tree.addFunction(fn);
    else tree.addFunction({ ...fn, product: '0001' }).addVirtualFunctions(address, 2, fn);
    const { devices, notOffered } = await discover([{ model, lost_by_reset: true }]);
    expect(notOffered).toEqual([]);
    const device = reportedDevice.parse(devices[address]);
    expect(device).toMatchObject({
      driver: 'ai_chip',
      type: 'AICHIP',
      vendor,
      model,
      attributes: { model, function: row.function },
      offers: { resource_class: row.resource_class },
    });
    expect(device.offers?.traits).toEqual(
      expect.arrayContaining([
        `CUSTOM_AICHIP_PRODUCT_ID_${product.toUpperCase()}`,
        `CUSTOM_PCI_PRODUCT_ID_${product.toUpperCase()}`,
        `CUSTOM_AICHIP_${model.toUpperCase().replaceAll(/[ -]/g, '_')}`,
        ...row.traits,
      ]),
    );
    expect(device.offers?.attach_handles).toHaveLength(row.function === 'physical' ? 1 : 2);
    // Only a card can be reset by its bus or by a rescan.
    const seconds = row.function === 'physical' ? 300 : 150;
    expect(device.offers?.attach_handles[0]).toMatchObject({
      type: 'PCI',
      clean_seconds: seconds,
    });
  });
});

describe('driver ai_chip', () => {
  it('offers a class for an Ascend, for which Cyborg reports none', async () => {
    tree.addFunction({ ...ascend310 });
    const { devices } = await discover([{ model: 'Ascend 310' }]);
    expect(devices[address]?.offers).toEqual({
      resource_class: 'CUSTOM_ASCEND_310',
      traits: [
        'CUSTOM_PCI_HUAWEI',
        'CUSTOM_PCI_PRODUCT_ID_D100',
        'CUSTOM_AICHIP_PRODUCT_ID_D100',
        'CUSTOM_AICHIP_ASCEND_310',
        'CUSTOM_AICHIP_HUAWEI',
      ],
      attach_handles: [
        {
          type: 'PCI',
          info: { domain: '0000', bus: '3b', device: '00', function: '0' },
          clean_seconds: 300,
        },
      ],
    });
  });

  it('offers two devices of one model', async () => {
    tree.addFunction(ascend310).addFunction({ ...ascend310, address: '0000:5e:00.0' });
    const { devices } = await discover([{ model: 'Ascend 310' }]);
    expect(Object.keys(devices)).toEqual([address, '0000:5e:00.0']);
  });

  it('offers nothing that the settings do not name', async () => {
    tree.addFunction(ascend310).addFunction({ ...ascend310, address: '0000:5e:00.0' });
    tree.addFunction({ ...ascend310, address: '0000:5f:00.0', product: 'd500' });
    const { devices, notOffered } = await discover([{ addresses: '0000:5E:00.0' }]);
    expect(Object.keys(devices)).toEqual(['0000:5e:00.0']);
    expect(notOffered).toEqual([]);
  });

  it('adds the traits of the settings, and cleans and binds as they say', async () => {
    tree.addFunction({ ...ascend310, driver: 'devdrv_device_driver' });
    const device = { clean: 'none', bind_to: 'vfio-pci', traits: ['CUSTOM_RACK_7'] };
    const driver = await driverOf([{ model: 'Ascend 310', ...device }]);
    const plan = (await driver.plan?.()) ?? [];
    expect(plan).toMatchObject([
      { address, what: 'driver', before: 'devdrv_device_driver', after: 'vfio-pci' },
    ]);
    const { devices } = await driver.discover();
    expect(devices[address]?.offers?.traits).toContain('CUSTOM_RACK_7');
    expect(devices[address]?.offers?.attach_handles[0]).not.toHaveProperty('clean_seconds');
  });

  it('neither offers nor unbinds a processor that a program uses', async () => {
    tree.addFunction({ ...ascend310, driver: 'devdrv_device_driver' });
    host.proc.addProcess(31, { comm: 'python3', open: ['/dev/davinci0'] });
    const driver = await driverOf([{ model: 'Ascend 310', bind_to: 'vfio-pci' }]);
    const reason = 'is open: process 31 (python3) uses /dev/davinci0';
    expect(await driver.plan?.()).toMatchObject([{ address, refusal: `${address} ${reason}` }]);
    expect(await driver.discover()).toMatchObject({
      devices: {},
      notOffered: [{ address, reason }],
    });
  });

  it('neither offers nor unbinds a processor whose kernel driver the guards do not know', async () => {
    tree.addFunction({ ...ascend310, vendor: '1ae0', product: '0001', driver: 'my_npu' });
    const driver = await driverOf([{ model: 'My NPU', bind_to: 'vfio-pci' }], [myRow]);
    const reason = expect.stringMatching(/may be in use: .* its kernel driver my_npu; /);
    expect(await driver.plan?.()).toMatchObject([{ address, refusal: reason }]);
    expect(await driver.discover()).toMatchObject({
      devices: {},
      notOffered: [{ address, reason }],
    });
  });

  it('cleans by a reset that is verified', async () => {
    tree.addFunction(ascend310);
    const driver = await driverOf([{ model: 'Ascend 310' }]);
    const info = { domain: '0000', bus: '3b', device: '00', function: '0' };
    const handle = { address, uuid: 'x', type: 'PCI' as const, info };
    expect(await driver.clean?.(handle, () => {})).toMatchObject({
      cleaned_by: 'reset',
      reset_method: 'flr',
      vendor_id: '0x19e5',
    });
  });

  it('offers the virtual functions of a card that stays with the host', async () => {
    tree.addFunction({ ...mi300x, sriovTotalvfs: 8 });
    tree.addVirtualFunctions(address, 2, mi300xVirtual);
    const { devices } = await discover([{ model: 'MI300X VF' }]);
    expect(devices[address]).toMatchObject({ model: 'MI300X VF', product: '74a1' });
    const handles = devices[address]?.offers?.attach_handles.map(({ info }) => info.function);
    expect(handles).toEqual(['1', '2']);
  });

  it('makes virtual functions on the cards that an entry names', async () => {
    const path = (card: string) => `${tree.pathOf(card)}/sriov_vf_device`;
    for (const card of [address, '0000:5e:00.0']) {
      tree.addFunction({ ...mi300x, address: card, sriovTotalvfs: 1 }).write(path(card), '74b5\n');
    }
    const device = { model: 'MI300X VF', virtual_functions: 1, addresses: '0000:5e:00.0' };
    const changes = (await (await driverOf([device])).plan?.()) ?? [];
    expect(changes).toMatchObject([
      { address: '0000:5e:00.0', what: 'number of virtual functions', before: '0', after: '1' },
    ]);
  });

  it('offers a virtual function by its own address', async () => {
    tree.addFunction(mi300x).addVirtualFunctions(address, 2, mi300xVirtual);
    const { devices, notOffered } = await discover([{ addresses: ['0000:3b:00.2'] }]);
    expect(devices[address]?.offers?.attach_handles).toHaveLength(1);
    expect(notOffered).toEqual([]);
  });
});

describe('driver ai_chip does not offer', () => {
  const refusal = async (devices: object[], rows: object[] = []) => {
    const found = await discover(devices, rows);
    expect(found.devices).toEqual({});
    return found.notOffered?.map(({ address: at, reason }) => `${at} ${reason}`);
  };
  const at = { addresses: [address] };
  const named = { model: 'Ascend 310' };
  const unknown = 'is 19e5:d999, which no model has: add a row for it to ai_chip.rows';
  const another = 'is the model Ascend 310P, and ai_chip.devices names it as Ascend 310';
  const unfit = 'has class 020000, and the model Ascend 310 has class 12';
  const dirty = 'cannot be cleaned between guests: it has no reset method';

  it.each<[string, object, object, string]>([
    ['of an unknown product', { product: 'd999' }, at, unknown],
    ['of another model', { product: 'd500' }, { ...named, ...at }, another],
    ['of another class', { classCode: '020000' }, at, unfit],
    ['that the guards refuse', { resetMethod: undefined }, named, dirty],
    ['that is elsewhere', { address: '0000:5e:00.0' }, at, 'is not on this host'],
  ])('a device %s', async (_what, given, entry, reason) => {
    tree.addFunction({ ...ascend310, ...given });
    expect(await refusal([entry])).toEqual([`${address} ${reason}`]);
  });

  it('a card whose virtual functions are offered, while it has none', async () => {
    tree.addFunction(mi300x).write(`${tree.pathOf(address)}/sriov_vf_device`, '74b5\n');
    const reason =
      `${address} has no virtual functions of the model MI300X VF: ` +
      'set virtual_functions in ai_chip.devices, or make them with its driver';
    expect(await refusal([{ model: 'MI300X VF' }])).toEqual([reason]);
    expect(await refusal([{ model: 'MI300X VF', addresses: [address] }])).toEqual([reason]);
  });

  it('a whole card that has virtual functions', async () => {
    tree.addFunction(mi300x).addVirtualFunctions(address, 1, mi300xVirtual);
    expect(await refusal([{ model: 'MI300X' }])).toEqual([
      `${address} has virtual functions, which its entry does not ask for`,
    ]);
  });

  it("another vendor's bridge that a row names by its id", async () => {
    tree.addFunction({ address, vendor: '8086', product: '2030', classCode: '060400' });
    const row = { ...myRow, vendor_id: '8086', product_ids: ['2030'] };
    expect(await refusal([{ model: 'My NPU' }], [row])).toEqual([`${address} is a bridge`]);
  });
});

describe("an operator's row", () => {
  it('is offered as the table is, and may have attributes', async () => {
    tree.addFunction({ address, vendor: '1ae0', product: '0001', classCode: 'ff0000' });
    const row = { ...myRow, traits: ['CUSTOM_NPU_FAST'], attributes: { memory: '32 GiB' } };
    const { devices } = await discover([{ model: 'My NPU' }], [row]);
    expect(reportedDevice.parse(devices[address])).toMatchObject({
      type: 'AICHIP',
      model: 'My NPU',
      attributes: { model: 'My NPU', function: 'physical', memory: '32 GiB' },
      offers: {
        resource_class: 'CUSTOM_MY_NPU',
        traits: [
          'CUSTOM_PCI_PRODUCT_ID_0001',
          'CUSTOM_AICHIP_PRODUCT_ID_0001',
          'CUSTOM_AICHIP_MY_NPU',
          'CUSTOM_NPU_FAST',
        ],
      },
    });
  });

  it.each<[string, object, string, string]>([
    ['without product ids', { product_ids: undefined }, 'product_ids', 'every device'],
    ['with an empty list', { product_ids: [] }, 'product_ids', 'every device'],
    ['for any product', { product_ids: ['*'] }, 'product_ids.0', 'other devices would match'],
    ['for any vendor', { vendor_id: '*' }, 'vendor_id', 'other devices would match'],
    ['for devices off the bus', { vendor_id: 'ffff' }, 'vendor_id', 'other devices would match'],
    ['for bridges', { class: '0604' }, 'class', 'a bridge is never given to a guest'],
    ['with a class of Nova', { resource_class: 'VCPU' }, 'resource_class', 'CUSTOM_'],
    ['with a standard trait', { traits: ['HW_NIC_SRIOV'] }, 'traits.0', 'CUSTOM_'],
    ['without a class', { resource_class: undefined }, 'resource_class', 'must be FPGA, PGPU or'],
    ['without a vendor', { vendor_id: undefined }, 'vendor_id', 'four hexadecimal digits'],
    ['without a name', { name: undefined }, 'name', 'must be 1 to 64 letters'],
    ['with an attribute of Cyborg', { attributes: { rc: 'x' } }, 'attributes', 'must be texts'],
    ['with a number', { attributes: { cores: 8 } }, 'attributes.cores', 'must be texts by name'],
    ['with another cleaning', { clean: 'wipe' }, 'clean', 'must be none or reset'],
    ['with the name of a model', { name: 'ascend 310' }, 'name', 'duplicate model: Ascend 310'],
    [
      'with the id of a model',
      { vendor_id: '19e5', product_ids: ['d100'] },
      'product_ids',
      '19e5:d100 is the model Ascend 310',
    ],
  ])('is refused %s', (_name, change, key, message) => {
    const faults = faultsOf({ devices: [{ model: 'My NPU' }], rows: [{ ...myRow, ...change }] });
    expect(faults[`rows.0.${key}`]).toContain(message);
  });
});
