// Devices that no guest can use: the agent says why, and binds none of them.

import { describe, expect, it } from 'vitest';
import { openProc } from '#agent/guards/proc.ts';
import { recordHost } from '#agent/record/record-host.ts';
import { settingsForAll } from '#agent/self-test/offer-all.ts';
import { toRecord } from '#test/hosts/to-record.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { discoverWith } from '#test/support/hosts/own-driver.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(aGuardedHost);

const look = (name: string, settings: unknown) => discoverWith(host, name, settings);

describe('a card whose base address registers are empty', () => {
  const at = '0000:11:00.0';
  const v80 = { vendor: '10ee', product: '50b4', classCode: '120000' };
  const empty = '0x0000000000000000 0x0000000000000000 0x0000000000000000\n';
  const memory = '0x00000000f0000000 0x00000000f3ffffff 0x0000000000040200\n';
  const reason = 'has no memory of the bus (all BARs are empty): remove it and rescan, or reboot';
  const ids = { vendor_id: '10ee', product_id: '50b4' };
  const allow = { allow_list: [{ address: at, ...ids, bind_to: 'vfio-pci' }] };

  it.each([
    ['all are empty', empty.repeat(13), reason],
    ['all but one of its virtual functions', empty.repeat(7) + memory + empty.repeat(5), reason],
    ['one is not', memory + empty.repeat(12), undefined],
    ['the host lists none', '', undefined],
  ])('is not offered: %s', async (_what, text, expected) => {
    host.tree.addFunction({ address: at, ...v80 });
    host.tree.write(`${host.tree.pathOf(at)}/resource`, text);
    const { offered, reasons } = await look('pci', allow);
    expect(reasons[at]).toBe(expected);
    expect(offered).toEqual(expected === undefined ? ['11:00'] : []);
  });

  it('is offered if it is a virtual function, because the kernel computes its registers', async () => {
    host.tree.addFunction({ address: at, ...v80, driver: 'x' });
    host.tree.addFunction({ address: '0000:11:00.1', ...v80, physicalFunction: at });
    host.tree.write(`${host.tree.pathOf('0000:11:00.1')}/resource`, empty.repeat(13));
    const allowed = { allow_list: [{ address: at, virtual_functions: true }] };
    expect((await look('pci', allowed)).offered).toEqual(['11:00']);
  });
});

describe('an Alveo V80', () => {
  const [management, user] = ['0000:11:00.0', '0000:11:00.1'];
  const v80 = { vendor: '10ee', classCode: '120000' };
  const ids = (product_id: string) => ({ vendor_id: '10ee', product_id });
  const addBoth = (iommuGroup?: number) => {
    const group = iommuGroup === undefined ? {} : { iommuGroup };
    host.tree.addFunction({ address: management, ...v80, product: '50b4', ...group });
    host.tree.addFunction({ address: user, ...v80, product: '50b5', ...group });
  };

  it.each<[string, object[], number | undefined]>([
    ['by its vendor', [{ vendor_id: '10ee' }], undefined],
    ['by its vendor, in one IOMMU group', [{ vendor_id: '10ee' }], 7],
    ['by the ids of both functions', [ids('50b4'), ids('50b5')], undefined],
  ])('is one FPGA, its user function, if it is named %s', async (_how, list, group) => {
    addBoth(group);
    const settings = { allow_list: list.map((each) => ({ ...each, resource_class: 'FPGA' })) };
    expect(await look('pci', settings)).toMatchObject({
      offered: ['11:00'],
      reasons: {
        [management]: `is the management function of an Alveo V80, whose user function ${user} is one device with it`,
      },
    });
  });

  it('without its user function is not offered, unless the entry names its ids', async () => {
    host.tree.addFunction({ address: management, ...v80, product: '50b4' });
    const { offered, reasons } = await look('pci', { allow_list: [{ vendor_id: '10ee' }] });
    expect(offered).toEqual([]);
    expect(reasons[management]).toContain('whose user function (10ee:50b5) is missing');
    expect((await look('pci', { allow_list: [ids('50b4')] })).offered).toEqual(['11:00']);
  });
});

describe('a card of several functions', () => {
  const slot = '0000:86:00';
  const add = (...functions: [fn: number, product: string][]) => {
    for (const [fn, product] of functions) {
      const address = `${slot}.${fn}`;
      host.tree.addFunction({ address, vendor: '10ee', product, classCode: '120000' });
    }
  };
  const byVendor = { allow_list: [{ vendor_id: '10ee', resource_class: 'FPGA' }] };

  it.each([
    ['U200', '5000', '5001'],
    ['U250', '5004', '5005'],
    ['U280', '500c', '500d'],
    ['U280', '501c', '501d'],
    ['U50', '5020', '5021'],
  ])('is one FPGA: an Alveo %s, %s and %s', async (name, management, user) => {
    add([0, management], [1, user]);
    const { devices, reasons } = await look('pci', byVendor);
    expect(Object.keys(devices)).toEqual([`${slot}.1`]);
    expect(reasons[`${slot}.0`]).toContain(`management function of an Alveo ${name}, whose user`);
  });

  it('with an entry for its management function alone names the user function', async () => {
    add([0, '5004'], [1, '5005']);
    const { reasons } = await look('pci', { allow_list: [{ address: `${slot}.0` }] });
    expect(reasons[`${slot}.0`]).toContain(`name its user function ${slot}.1 (10ee:5005) instead`);
  });

  it.each([
    ['management', '5005', `whose management function ${slot}.0 (10ee:5004) is missing`],
    ['management', '50b5', 'power cycle the host'],
  ])('without its %s function is not offered: %s', async (_which, product, reason) => {
    add([1, product]);
    const named = { allow_list: [{ vendor_id: '10ee', product_id: product }] };
    const { offered, reasons } = await look('pci', named);
    expect([offered, Object.keys(reasons)]).toEqual([[], [`${slot}.1`]]);
    expect(reasons[`${slot}.1`]).toContain(reason);
  });

  it('is offered in a virtual machine that has its user function alone', async () => {
    add([0, '5005']);
    expect((await look('pci', byVendor)).offered).toEqual(['86:00']);
  });

  it.each(['d000', 'd00c'])('with its golden image is not offered: %s', async (product) => {
    add([0, product]);
    const { reasons } = await look('pci', byVendor);
    expect(reasons[`${slot}.0`]).toContain('no user function: flash a shell, and start the host');
    const named = { allow_list: [{ vendor_id: '10ee', product_id: product }] };
    expect((await look('pci', named)).offered).toEqual(['86:00']);
  });

  it.each([
    ['50b5', '50b6'],
    ['50c1', '50c2'],
  ])('with two user functions goes to a server as a whole: %s and %s', async (user, control) => {
    add([0, '50b4'], [1, user], [2, control]);
    const { offered, reasons } = await look('pci', byVendor);
    expect(offered).toEqual([]);
    expect(reasons[`${slot}.1`]).toContain('is one of 2 user functions of an Alveo V80');
    expect(reasons[`${slot}.2`]).toContain(`such as ${slot}.1: put them in a set of a pool`);
    const pool = { name: 'v80', sets: [[`${slot}.1`, `${slot}.2`]] };
    const entry = { address: `${slot}.*`, vendor_id: '10ee', resource_class: 'FPGA' };
    const allow_list = [user, control].map((id) => ({ ...entry, product_id: id, pool: 'v80' }));
    expect((await look('pci', { allow_list, pools: [pool] })).offered).toEqual(['86:00', '86:00']);
  });

  it('of another model has as many functions as it shows', async () => {
    add([1, '903f'], [2, '913f']);
    expect((await look('pci', byVendor)).offered).toEqual(['86:00', '86:00']);
  });
});

describe('a GPU on a board with NVSwitches', () => {
  const [first, second, nvswitch] = ['0000:1b:00.0', '0000:43:00.0', '0000:07:00.0'];
  const gpu = { vendor: '10de', product: '2330', classCode: '030200' };
  const addBoard = (product = gpu.product) => {
    for (const address of [first, second]) host.tree.addFunction({ ...gpu, address, product });
    if (product !== '2901') {
      host.tree.addFunction({ ...gpu, address: nvswitch, product: '22a3', classCode: '068000' });
    }
  };
  const needs = expect.stringContaining(
    'Fabric Manager must open for a guest (else CUDA ends with',
  );
  const entry = { vendor_id: '10de', class: '0302' };

  it.each(['2330', '20b0', '2901'])('is not offered alone: %s', async (product) => {
    addBoard(product);
    const { offered, reasons } = await look('pci', { allow_list: [entry] });
    expect(offered).toEqual([]);
    expect(reasons).toEqual({ [first]: needs, [second]: needs });
    const named = { allow_list: [{ ...entry, fabric_ready: true }] };
    expect((await look('pci', named)).offered).toEqual(['1b:00', '43:00']);
  });

  it('in a slot of such a host is offered, as is one without switches', async () => {
    addBoard('2331');
    expect((await look('pci', { allow_list: [entry] })).offered).toEqual(['1b:00', '43:00']);
    host.tree.removeFunction(nvswitch);
    for (const each of [first, second]) host.tree.removeFunction(each);
    host.tree.addFunction({ ...gpu, address: '0000:61:00.0', product: '20b0' });
    expect((await look('pci', { allow_list: [entry] })).offered).toEqual(['61:00']);
  });

  it('is offered in a set with the switches, and not in a pool without', async () => {
    addBoard();
    const pool = { vendor_id: '10de', resource_class: 'PGPU', pool: 'hgx0' };
    const sets = [[first, second, nvswitch]];
    const whole = { allow_list: [pool], pools: [{ name: 'hgx0', sets }] };
    expect((await look('pci', whole)).offered).toEqual(['07:00', '1b:00', '43:00']);
    const { offered, reasons } = await look('pci', { allow_list: [{ ...pool, class: '0302' }] });
    expect([offered, reasons]).toEqual([[], { [first]: needs, [second]: needs }]);
  });

  it('is not offered as a whole by driver nvidia_gpu without the setting', async () => {
    addBoard();
    const cards = { addresses: [first] };
    expect((await look('nvidia_gpu', { cards: [cards] })).reasons[first]).toEqual(needs);
    const ready = { cards: [{ ...cards, fabric_ready: true }] };
    expect((await look('nvidia_gpu', ready)).offered).toEqual(['1b:00']);
  });
});

describe('a card that VFIO can lose by a reset', () => {
  const at = '0000:05:00.0';
  const reason = expect.stringContaining(
    'may be lost until the host reboots, after VFIO has reset',
  );

  it.each(['74a1', '74a2', '74a5', '74a8', '75a0', '75a3'])(
    'is offered as a whole by a setting alone: %s',
    async (product) => {
      host.tree.addFunction({ address: at, vendor: '1002', product, classCode: '120000' });
      const entry = { vendor_id: '1002', product_id: product };
      const { offered, reasons } = await look('pci', { allow_list: [entry] });
      expect([offered, reasons]).toEqual([[], { [at]: reason }]);
      const accepted = { allow_list: [{ ...entry, lost_by_reset: true }] };
      expect((await look('pci', accepted)).offered).toEqual(['05:00']);
    },
  );

  it('is offered by its virtual functions', async () => {
    const mi300x = { vendor: '1002', classCode: '120000' };
    host.tree.addFunction({ ...mi300x, address: at, product: '74a1', driver: 'gim' });
    host.tree.addVirtualFunctions(at, 1, { ...mi300x, product: '74b5' });
    const settings = { devices: [{ model: 'MI300X VF' }] };
    expect((await look('ai_chip', settings)).offered).toEqual(['05:00']);
  });
});

describe('a model that vfio-pci refuses', () => {
  const [card, first, second] = ['0000:b0:00.0', '0000:b1:01.0', '0000:b1:01.1'];
  const settings = { cards: [{ addresses: [card], bind_to: 'vfio-pci' }] };
  const refused = expect.stringContaining('vfio-pci refuses this model (denylist)');

  function addQat(driver?: string): void {
    const qat = { vendor: '8086', classCode: '0b4000' };
    host.tree.addFunction({ address: card, ...qat, product: '37c8', driver: 'c6xx' });
    for (const address of [first, second]) {
      const virtual = { physicalFunction: card, driver };
      host.tree.addFunction({ address, ...qat, product: '37c9', ...virtual });
    }
  }
  const setParameter = (value: string) =>
    host.tree.write('module/vfio_pci/parameters/disable_denylist', `${value}\n`);

  it.each(['N', undefined])('is not offered and not bound: disable_denylist %s', async (value) => {
    addQat();
    if (value) setParameter(value);
    const { offered, reasons, plan } = await look('qat', settings);
    expect(offered).toEqual([]);
    expect(Object.values(reasons)).toEqual([refused]);
    expect(Object.values(reasons)[0]).toContain('disable_denylist=1 only if you trust every guest');
    expect(plan).toEqual([refused, refused]);
  });

  const both = ['b1:01', 'b1:01'];

  it('is offered with the denylist disabled', async () => {
    addQat();
    setParameter('Y');
    expect(await look('qat', settings)).toMatchObject({ offered: both, reasons: {} });
  });

  it('is bound on a kernel that is older than the denylist', async () => {
    host.tree.write('module/vfio_pci/parameters/ids', '\n');
    addQat();
    expect((await look('qat', settings)).plan).toEqual(['bind vfio-pci', 'bind vfio-pci']);
  });

  it('is offered once vfio-pci has taken it', async () => {
    setParameter('N');
    addQat('vfio-pci');
    expect(await look('qat', settings)).toMatchObject({ offered: both, reasons: {} });
  });

  it.each([
    ['5.15.158-generic', false],
    ['5.15.159-generic', true],
    ['6.1.0-44-amd64', false],
    ['6.6.31', true],
    ['6.7.12', false],
    ['6.8.9', false],
    ['6.9.0', true],
    ['6.12', true],
    ['', false],
  ])('is a DSA since some releases: %s', async (release, isDenied) => {
    const at = '0000:6a:01.0';
    const dsa = { vendor: '8086', product: '0b25', classCode: '088000', driver: undefined };
    host.tree.addFunction({ address: at, ...dsa });
    setParameter('N');
    if (release) host.proc.write('sys/kernel/osrelease', `${release}\n`);
    const list = [{ address: at, device_type: 'COPROCESSOR', bind_to: 'vfio-pci' }];
    const { reasons } = await look('pci', { allow_list: list });
    expect(reasons[at]).toEqual(isDenied ? refused : undefined);
  });
});

describe('a function of an FPGA of the class of a memory or a serial controller', () => {
  it.each([
    ['10ee', '903f', '058000'],
    ['1172', 'e003', '070001'],
    ['8086', '09c4', '058000'],
  ])('is named with the setting that it needs: %s:%s', async (vendor, product, classCode) => {
    const at = '0000:01:00.0';
    host.tree.addFunction({ address: at, vendor, product, classCode });
    const settings = settingsForAll(recordHost(host.sysfs, openProc(host.proc.root)));
    expect(settings.drivers).toEqual(['pci']);
    const pci = 'pci' in settings ? settings.pci : undefined;
    expect(pci).toEqual({
      allow_list: [{ address: at, vendor_id: vendor, product_id: product }],
    });
    if (vendor === '8086') return;
    expect((await look('pci', pci)).reasons[at]).toBe(
      `has class ${classCode}, which needs a device_type`,
    );
  });

  it('is in a record, and a memory controller of another vendor is not', () => {
    const listing = (ids: string) => `01:00.0 Memory controller [0580]: A Device [${ids}]\n`;
    expect(toRecord(listing('10ee:903f'))).toContain('0000:01:00.0 10ee:903f 058000');
    expect(() => toRecord(listing('8086:a121'))).toThrow('It has no accelerator');
  });
});
