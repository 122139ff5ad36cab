import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { address, IntelFpgaHost, imageId } from '#test/drivers/intel-fpga/host.ts';
import { staticRegion } from '#test/drivers/intel-fpga/kernel.ts';
import { aFunction, aGbs, fakeInterface } from '#test/support/hosts/gbs.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const other = '11111111-2222-4333-8444-555555555555';
const host = perTest(() => new IntelFpgaHost());
const legacy = perTest(() => new IntelFpgaHost({ stack: 'intel-fpga' }));

const whole = { cards: [{ addresses: address, virtual_functions: false }] };
const engineFile = (name: string) => `${host.kernel.engineOf(address)}/${name}`;
const portFile = (name: string) => `${host.kernel.portOf(address)}/${name}`;

describe('discovery of FPGA cards', () => {
  it('describes the card, and a region for the virtual function of its port', async () => {
    const { [address]: device } = await host.start({
      cards: [{ addresses: address, traits: ['CUSTOM_RACK_7'] }],
    });
    expect(device).toMatchObject({
      address,
      driver: 'intel_fpga',
      type: 'FPGA',
      vendor: '0x8086',
      product: '0x09c4',
      model: 'PAC Arria10',
      firmware: staticRegion,
      attributes: { interface: fakeInterface, ports: '1' },
    });
    expect(device?.offers).toBeUndefined();
    expect(device?.regions).toEqual([
      {
        name: 'region0',
        kind: 'reconfigurable-region',
        resource_class: 'FPGA',
        'region-type-uuid': fakeInterface,
        'function-uuid': aFunction,
        traits: [
          ...['CUSTOM_FPGA_INTEL', 'CUSTOM_FPGA_INTEL_PAC_ARRIA10', 'CUSTOM_FPGA_PRODUCT_ID_09C4'],
          ...['CUSTOM_PCI_INTEL', 'CUSTOM_PCI_PRODUCT_ID_09C4', 'CUSTOM_RACK_7'],
        ],
        attach_handles: [
          {
            type: 'PCI',
            clean_seconds: 280,
            info: { domain: '0000', bus: '5e', device: '00', function: '1' },
          },
        ],
      },
    ]);
  });

  it('finds the same on the driver intel-fpga of OPAE', async () => {
    const before = await host.start();
    expect(await legacy.start()).toEqual(before);
    expect(legacy.kernel.ran).toEqual(['fpgaport release /dev/intel-fpga-fme.0 0']);
  });

  it.each([
    [{ blank_images: {} }, `has interface ${fakeInterface}, for which blank_images names no image`],
    [
      { blank_images: { [fakeInterface]: '/nowhere/blank' } },
      'cannot be blanked after a guest: /no',
    ],
    [{ cards: ['0000:aa:00.0'] }, 'is not on this host'],
  ])('offers nothing with settings %j, and says why', async (settings, reason) => {
    expect(await host.start(settings)).toEqual({});
    expect(Object.values(await host.reasons()).join()).toContain(reason);
  });

  it('offers no card whose blank image it could not write', async () => {
    const clean = 'cannot be cleaned after a guest: ';
    host.kernel.missing.add(undefined).add('/bin/true');
    expect(await host.start()).toEqual({});
    expect(await host.reasons()).toEqual({
      [address]: `${clean}the agent's helper is not installed`,
    });
    writeFileSync(host.blank, aGbs({ keys: { 'clock-frequency-high': 400 } }));
    expect(await host.reasons()).toEqual({ [address]: `${clean}/bin/true is not installed` });
    expect(Object.keys(await host.start({ clean: 'none', data_may_stay: true }))).toEqual([
      address,
    ]);
  });

  it('offers no card with a port that fpgaconf does not write', async () => {
    const several = new IntelFpgaHost({ ports: 2, stack: 'intel-fpga' });
    expect(await several.start()).toEqual({});
    expect(await several.reasons()).toEqual({
      [address]: 'cannot be cleaned after a guest: /bin/true writes port 0 alone, of 2',
    });
    several.remove();
  });

  it('offers no card whose blank image is for another interface', async () => {
    writeFileSync(host.blank, aGbs({ interfaceUuid: other }));
    expect(await host.start()).toEqual({});
    expect((await host.reasons())[address]).toContain(`The image is for interface ${other}`);
  });

  it.each([
    ['ports_num', '0', 'ports'],
    ['ports_num', '../../hostile', 'ports'],
    ['bitstream_id', '0xffffffffffffffff', 'fell off the bus'],
    ['bitstream_id', 'x', 'bitstream_id'],
    ['dfl-fme-region.0/fpga_region/region1/compat_id', '12', '32 digits'],
  ])('offers no card whose %s is %s', async (name, text, reason) => {
    host.host.tree.write(engineFile(name), `${text}\n`);
    expect(await host.start()).toEqual({});
    expect((await host.reasons())[address]).toContain(reason);
  });

  it.each([
    ['errors/catfatal_errors', '0x800', 'unhealthy', 'shows catastrophic or fatal errors: 0x800'],
    ['errors/nonfatal_errors', '0x1', 'degraded', 'shows non-fatal errors: 0x1'],
    ['errors/fme_errors', '0x40', 'degraded', 'shows errors of its management engine: 0x40'],
    ['errors/pcie0_errors', '0x2', 'degraded', 'shows PCIe errors: 0x2'],
  ])('tells of %s as health', async (name, value, state, reason) => {
    await host.start();
    host.host.tree.write(engineFile(name), `${value}\n`);
    const { [address]: device } = await host.discover();
    expect(device?.health).toEqual({ state, reason, since: '1970-01-01T00:00:00.000Z' });
  });

  it.each([
    ['errors/errors', '0x200', 'shows errors of port 0: 0x200'],
    ['power_state', '0x6', 'throttles port 0: AP6'],
  ])('tells of %s of a port as health', async (name, value, reason) => {
    await host.start(whole);
    host.host.tree.write(portFile(name), `${value}\n`);
    const { [address]: device } = await host.discover();
    expect(device?.health).toMatchObject({ state: 'degraded', reason });
  });

  it('describes a whole card as before while a guest has it', async () => {
    const before = await host.start(whole);
    expect(before[address]?.regions[0]?.attach_handles[0]?.info.function).toBe('0');
    host.kernel.bind(address, 'vfio-pci');
    host.host.openVfio(address);
    const { [address]: device } = await host.discover();
    const [region] = before[address]?.regions ?? [];
    const { 'function-uuid': _, ...unknown } = region ?? {};
    expect(device).toEqual({ ...before[address], regions: [unknown] });
  });

  it('offers no whole card with several ports', async () => {
    host.kernel.add('0000:af:00.0', { ports: 2 });
    const cards = [{ addresses: '0000:af:00.0', virtual_functions: false }];
    expect(await host.start({ cards })).toEqual({});
    expect(await host.reasons()).toEqual({
      '0000:af:00.0': 'has 2 ports, which are offered by virtual_functions alone',
    });
  });

  it('knows the image of a region until the next boot', async () => {
    await host.start();
    await host.write({ functionUuid: other });
    expect(await host.region()).toMatchObject({ 'bitstream-id': imageId, 'function-uuid': other });
    host.kernel.reboot();
    host.bootId = 'second';
    await host.start();
    const region = await host.region();
    expect(region?.['bitstream-id']).toBeUndefined();
    expect(region?.['function-uuid']).toBe(aFunction);
  });

  it('does not tell an image that the host has replaced', async () => {
    await host.start(whole);
    await host.write();
    host.host.tree.write(portFile('afu_id'), `${other.replaceAll('-', '')}\n`);
    const region = await host.region();
    expect(region?.['bitstream-id']).toBeUndefined();
    expect(region?.['function-uuid']).toBe(other);
  });
});

describe('the set-up of an FPGA card', () => {
  it('releases each port, makes as many virtual functions, and binds them to VFIO', async () => {
    host.kernel.add('0000:af:00.0', { ports: 3 });
    await host.start({ cards: ['0000:af:00.0'], clean: 'none', data_may_stay: true });
    expect(host.kernel.ran).toEqual([0, 1, 2].map((port) => `dfl-release /dev/dfl-fme.1 ${port}`));
    const virtuals = host.kernel.virtualOf('0000:af:00.0');
    expect(virtuals.map((each) => host.driverOf(each))).toEqual(Array(3).fill('vfio-pci'));
    expect(host.setUpEnd.left).toEqual([]);
  });

  it('changes nothing while a process has a port open', async () => {
    host.open('/dev/dfl-port.0');
    expect(await host.start()).toEqual({});
    expect(host.kernel.ran).toEqual([]);
    expect(host.setUpEnd.left).toEqual([
      `The number of virtual functions of ${address} is 0, not 1: ` +
        `${address} is open: process 31 (qemu) uses /dev/dfl-port.0.`,
    ]);
  });

  it('binds a card without a driver to the one that it was told to take', async () => {
    await host.start();
    host.kernel.bind(address, 'dfl-pci');
    await host.kernel
      .hardware()
      .writeText(address, `bus/pci/devices/${address}/driver/unbind`, address);
    expect(Object.keys(await host.discover())).toEqual([address]);
    expect(host.driverOf(address)).toBe('dfl-pci');
    expect(host.setUpEnd.applied.map(({ what }) => what)).toContain('driver');
  });

  it('does not wait itself for the lock of a card that the kernel removes or binds', async () => {
    await host.start();
    const device = `bus/pci/devices/${address}`;
    const { writeText } = host.kernel.hardware();
    await writeText(address, `${device}/driver_override`, 'intel-fpga-pci\n');
    await writeText(address, `${device}/driver/unbind`, address);
    host.kernel.hanging.add('driver_override');
    expect((await host.plan()).map(({ after }) => after)).toEqual(['dfl-pci']);
  });

  it('names a card that cannot have a virtual function for each port', async () => {
    host.host.tree.write(`${host.host.tree.pathOf(address)}/sriov_totalvfs`, '0\n');
    await host.start();
    expect(host.setUpEnd.left.join()).toContain('it has 1 ports, and can have 0 virtual functions');
  });

  it('offers no virtual function that has another port than its number', async () => {
    host.kernel.add('0000:af:00.0', { ports: 2, wiring: [1, 0] });
    await host.start({ cards: ['0000:af:00.0'], clean: 'none', data_may_stay: true });
    expect(host.setUpEnd.left.join()).toContain('0000:af:00.1 has port 1, not 0');
    expect(host.driverOf('0000:af:00.1')).toBe('dfl-pci');
  });
});
