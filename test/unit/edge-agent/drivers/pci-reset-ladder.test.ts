import { beforeEach, describe, expect, it } from 'vitest';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const [port, at, mate] = ['0000:00:01.1', '0000:3b:00.0', '0000:3b:00.1'];
const gpu = { address: at, product: '2335', below: port };
const host = perTest(aGuardedHost);
/** Methods after which the function is as before. */
let working: readonly string[];
let tried: string[];
let methods: string;

const devices = 'bus/pci/devices';
const write = (path: string, text: string) => host.tree.write(path, text);

beforeEach(() => {
  [working, tried, methods] = [[], [], 'flr pm bus'];
  host.tree.addFunction({ address: port, classCode: '060400', driver: 'pcieport' });
  addGpu();
  write('bus/pci/rescan', '');
  write('bus/pci/drivers_probe', '');
});

function addGpu(driver: string | undefined = 'vfio-pci', product = gpu.product): void {
  host.tree.addFunction({ ...gpu, product, driver, resetMethod: methods });
  write(`${host.tree.pathOf(at)}/remove`, '');
}

/** The kernel's side of a write. */
function effectOf(path: string, text: string): void {
  const name = path.split('/').at(-1);
  const folder = path.slice(0, path.lastIndexOf('/'));
  const attempt = (method: string) => {
    tried.push(method);
    if (!working.includes(method)) throw new HardwareError('ETIMEDOUT', 'no answer');
  };
  // dd leaves the rest of a file that is longer, and an attribute has none.
  if (name === 'reset_method') write(path, `${text}\n`);
  else if (name === 'reset') attempt(host.sysfs.readAttribute(`${folder}/reset_method`) ?? '');
  else if (name === 'reset_subordinate') attempt(name);
  else if (name === 'remove') host.tree.removeFunction(at);
  else if (name === 'rescan') {
    tried.push(name);
    if (working.includes(name)) addGpu('nvidia');
    else if (working.includes('another card')) addGpu('nvidia', '2330');
  } else if (name === 'drivers_probe') {
    host.tree.link(`${host.tree.pathOf(text)}/driver`, 'bus/pci/drivers/vfio-pci');
  }
}

async function clean(entry: object = {}) {
  const hardware: Hardware = {
    ...host.hardware,
    writeText: async (device, path, text, limitMs) => {
      if (!path.endsWith('driver/unbind')) {
        await host.hardware.writeText(device, path, text, limitMs);
      }
      effectOf(path, text.trim());
    },
  };
  const driver = await host.pciDriver({ vendor_id: '10de', clean: 'reset', ...entry }, hardware);
  const info = { domain: '0000', bus: '3b', device: '00', function: '0' };
  const evidence = driver.clean?.({ address: at, uuid: 'u', type: 'PCI', info }, () => {});
  return { driver, evidence: Promise.resolve(evidence) };
}

const evidenceOf = async (entry?: object) => await (await clean(entry)).evidence;
const enabled = () => host.sysfs.readAttribute(`${devices}/${at}/reset_method`);

describe('a reset', () => {
  it.each([
    ['flr', 'function', ['flr']],
    ['pm', 'function', ['flr', 'pm']],
    ['bus', 'bus', ['flr', 'pm', 'bus']],
    ['rescan', 'rescan', ['flr', 'pm', 'bus', 'rescan']],
  ])('by %s is named with its rung, %s', async (method, rung, all) => {
    working = [method];
    expect(await evidenceOf()).toMatchObject({ reset_method: method, reset_rung: rung });
    expect(tried).toEqual(all);
    // The kernel has its own order again.
    expect(enabled()).toBe(methods);
    expect(host.sysfs.linkName(`${devices}/${at}/driver`)).toBe('vfio-pci');
  });

  it('goes on after one that leaves another state', async () => {
    working = ['flr', 'bus'];
    write(`${host.tree.pathOf(at)}/current_link_speed`, '16.0 GT/s PCIe\n');
    const setWidth = (width: number) =>
      write(`${host.tree.pathOf(at)}/current_link_width`, `${width}\n`);
    setWidth(16);
    const { push } = tried;
    tried.push = (method: string) => {
      setWidth(method === 'flr' ? 8 : 16);
      return push.call(tried, method);
    };
    expect(await evidenceOf()).toMatchObject({ reset_method: 'bus', link: '16.0 GT/s PCIe x16' });
  });

  it.each([
    [['bus'], ['bus']],
    [
      ['bus', 'function'],
      ['bus', 'flr'],
    ],
    [['function'], ['flr', 'pm']],
  ])('goes the rungs of its entry: %j', async (resets, all) => {
    working = resets.includes('function') && resets.length > 1 ? ['flr'] : [];
    const outcome = await evidenceOf({ resets }).catch((error: Error) => error.message);
    if (working.length === 0) {
      expect(outcome).toMatch(/ETIMEDOUT/);
    }
    expect(tried).toEqual(all);
    expect(enabled()).toBe(methods);
  });

  it('that fails on all rungs names what each has answered', async () => {
    await expect(evidenceOf()).rejects.toThrow(
      /could not be reset: flr: .*; pm: .*; bus: .*; rescan: it did not come back\.$/,
    );
  });

  it.each([{ resets: [] }, { resets: ['bus', 'bus'] }, { resets: ['slot'] }, { resets: 'bus' }])(
    'is refused as a setting: %j',
    async (entry) => {
      await expect(clean(entry)).rejects.toThrow('must list function, bus, rescan');
    },
  );
});

describe('the reset of a bus with several functions', () => {
  const addMate = (driver: string, address = mate) => {
    host.tree.addFunction({ address, product: '1aef', classCode: '040300', driver, below: port });
    write(`${host.tree.pathOf(port)}/reset_subordinate`, '');
  };
  beforeEach(() => {
    methods = 'flr';
    write(`${host.tree.pathOf(at)}/reset_method`, 'flr\n');
    working = ['reset_subordinate'];
  });

  it('is by the port above them, if all are of the settings and free', async () => {
    addMate('vfio-pci');
    expect(await evidenceOf()).toMatchObject({
      reset_method: 'reset_subordinate',
      reset_rung: 'bus',
    });
    expect(tried).toEqual(['flr', 'reset_subordinate']);
  });

  it('is refused while a guest has one of them', async () => {
    addMate('vfio-pci');
    const group = host.sysfs.linkName(`${devices}/${mate}/iommu_group`);
    host.proc.addProcess(31, { comm: 'qemu', open: [`/dev/vfio/${group}`] });
    await expect(evidenceOf({ resets: ['function', 'bus'] })).rejects.toThrow(
      `bus: ${mate} of its bus is open: process 31 (qemu)`,
    );
    expect(tried).toEqual(['flr']);
  });

  it('is refused if one of them is not of the settings', async () => {
    addMate('vfio-pci');
    const entry = { product_id: '2335', resets: ['function', 'bus'] };
    await expect(evidenceOf(entry)).rejects.toThrow(`bus: ${mate} of its bus is not in`);
    expect(tried).toEqual(['flr']);
  });

  it("is refused if the host's driver has one of them", async () => {
    addMate('snd_hda_intel');
    await expect(evidenceOf({ companions: true, resets: ['bus'] })).rejects.toThrow(
      `bus: ${mate} of its bus is held by the host's driver snd_hda_intel`,
    );
  });
});

describe('a removal and a rescan', () => {
  beforeEach(() => {
    working = ['rescan'];
  });

  it('keep the device in the report meanwhile', async () => {
    const { driver, evidence } = await clean({ resets: ['rescan'] });
    const [, { devices: found }] = await Promise.all([evidence, driver.discover()]);
    expect(Object.keys(found)).toEqual([at]);
  });

  it('fail if another card comes back', async () => {
    working = ['another card'];
    await expect(evidenceOf({ resets: ['rescan'] })).rejects.toThrow('another card came back');
  });

  it('are left out for a function that is not on a VFIO driver', async () => {
    host.tree.removeFunction(at);
    addGpu('pci-stub');
    await expect(evidenceOf({ resets: ['rescan'] })).rejects.toThrow(
      'rescan: it is not bound to a VFIO driver',
    );
    expect(tried).toEqual([]);
  });

  it('and a reset of the bus are left out for a virtual function', async () => {
    const virtual = '0000:3b:00.4';
    host.tree.addFunction({ address: virtual, physicalFunction: at, below: port });
    host.tree.write(`${host.tree.pathOf(virtual)}/config`, Buffer.alloc(256, 0xff));
    const driver = await host.pciDriver({ vendor_id: '10de', virtual_functions: true });
    const info = { domain: '0000', bus: '3b', device: '00', function: '4' };
    await expect(
      driver.clean?.({ address: at, uuid: 'u', type: 'PCI', info }, () => {}),
    ).rejects.toThrow(/bus: it is a virtual function; rescan: it is a virtual function/);
  });
});
