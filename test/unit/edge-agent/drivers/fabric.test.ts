// Boards with NVSwitches: what a host shows of its Fabric Manager, switches that are no PCI
// functions, and racks.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { parseHost } from '#agent/record/host-record.ts';
import { MdevKernel } from '#test/drivers/mdev/kernel.ts';
import { buildHost } from '#test/hosts/build-host.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { discoverWith, ownDriver } from '#test/support/hosts/own-driver.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(aGuardedHost);
const [gpu, nvswitch] = ['0000:1b:00.0', '0000:07:00.0'];

/** As the packages of release 580 have it, without most of its comments. */
const settingsOf = (mode: string) => `# Description: Fabric Manager Operating Mode
# Possible Values:
#	0  Start Fabric Manager in Bare metal or Full pass through virtualization mode.
FABRIC_MODE=${mode}
FABRIC_MODE_RESTART=1
`;
const printed = (stdout: string): Answer => ({ exitCode: 0, stdout, stderr: '' });

/** A host with the settings and the program of a Fabric Manager, or without. */
function hardwareWith(settings?: string, version?: string): Hardware {
  const exec: Hardware['exec'] = async (_device, tool, args) => {
    const line = [tool, ...args].join(' ');
    if (line === 'cat /usr/share/nvidia/nvswitch/fabricmanager.cfg' && settings !== undefined) {
      return printed(settings);
    }
    if (line === '/usr/bin/nv-fabricmanager --version' && version !== undefined) {
      return printed(`\n\n\tFabric Manager version is : ${version}\n\n`);
    }
    if (tool === 'cat') return { exitCode: 1, stdout: '', stderr: 'No such file or directory' };
    throw new HardwareError('ENOENT', tool);
  };
  return { ...host.hardware, exec };
}

describe('vGPUs of a board with NVSwitches', () => {
  const offer = async (hardware: Hardware, ready?: boolean, product = '2335') => {
    const card = { vendor: '10de', classCode: '030200', driver: 'nvidia' };
    host.tree.addFunction({ ...card, address: gpu, product });
    if (product === '2335') {
      host.tree.addFunction({ ...card, address: nvswitch, product: '22a3', classCode: '068000' });
    }
    const kernel = new MdevKernel(host.tree);
    kernel.addParent(gpu, { capacity: 1, types: { 'nvidia-1': 1 } });
    const cards = [{ addresses: gpu, vgpu_type: 'nvidia-1', fabric_ready: ready }];
    const context = { hardware: { ...hardware, ...kernel.hardware(), exec: hardware.exec } };
    return await discoverWith(host, 'nvidia_gpu', { made: 'at-bind', cards }, context);
  };

  it.each([
    ['0', true, 'FABRIC_MODE=2, which is 0 in /usr/share/nvidia/nvswitch/fabricmanager.cfg'],
    ['1', true, 'which is 1 in'],
    ['2', undefined, 'which is 2 in'],
    [undefined, undefined, '(FABRIC_MODE=2), and fabric_ready to true'],
    ['2', true, undefined],
    ['0\nFABRIC_MODE=2', true, undefined],
    [undefined, true, undefined],
    ['x', true, undefined],
  ])('with FABRIC_MODE=%s, fabric_ready %s: %s', async (mode, ready, expected) => {
    const settings = mode === undefined ? undefined : settingsOf(mode);
    const { offered, reasons } = await offer(hardwareWith(settings), ready);
    expect(offered).toHaveLength(expected === undefined ? 1 : 0);
    const sentence = expected && (expect.stringContaining(expected) as string);
    expect(reasons[gpu]).toEqual(sentence);
  });

  it.each(['580.159.03', undefined])(
    'show the release of the Fabric Manager: %s',
    async (release) => {
      const { devices } = await offer(hardwareWith(settingsOf('2'), release), true);
      expect(devices[gpu]?.attributes).toEqual({
        vgpu_name: 'nvidia-1',
        ...(release !== undefined && { fabric_manager: release }),
      });
    },
  );

  it('of a rack need its own manager', async () => {
    const { reasons } = await offer(hardwareWith(settingsOf('2')), undefined, '2941');
    expect(reasons[gpu]).toContain("have the rack's NMX-C give it a partition");
  });
});

describe('a whole GPU', () => {
  const entry = { vendor_id: '10de', class: '0302' };
  const add = (product: string) => {
    const card = { vendor: '10de', classCode: '030200' };
    host.tree.addFunction({ ...card, address: gpu, product });
  };

  it.each(['2941', '31a1', '31c2', '31c3'])('of a rack is not offered: %s', async (product) => {
    add(product);
    const { offered, reasons } = await discoverWith(host, 'pci', { allow_list: [entry] });
    expect(offered).toEqual([]);
    expect(reasons[gpu]).toContain(
      'is on the NVLink of a rack, whose switches are outside of this',
    );
    const ready = { allow_list: [{ ...entry, fabric_ready: true }] };
    expect((await discoverWith(host, 'pci', ready)).offered).toEqual(['1b:00']);
  });

  it.each(['290a', '29bc'])('of an HGX board of Blackwell is not offered: %s', async (product) => {
    add(product);
    const { reasons } = await discoverWith(host, 'pci', { allow_list: [entry] });
    expect(reasons[gpu]).toContain('CUDA ends with 802');
  });

  it.each<[string, object, string | undefined]>([
    ['on this host', {}, '575.57.08'],
    ['in a service VM', { fabric_manager: { hostname: '192.168.122.2' } }, undefined],
  ])('shows the release of a Fabric Manager %s', async (_where, more, expected) => {
    add('2901');
    const allow_list = [{ ...entry, fabric_ready: true }];
    const hardware = hardwareWith(settingsOf('1'), '575.57.08');
    const { devices } = await discoverWith(host, 'pci', { allow_list, ...more }, { hardware });
    expect(devices[gpu]?.attributes?.fabric_manager).toBe(expected);
  });
});

describe('the self-test of a board with NVSwitches', () => {
  const examine = async (hardware: Hardware, settings: object, name = 'pci') => {
    const configured = ownDriver(name).configure(settings);
    if ('faults' in configured) throw new Error(JSON.stringify(configured));
    const driver = configured.create(await host.context({ hardware }));
    return (await driver.examine?.())?.filter(({ what }) => what.startsWith('Fabric Manager'));
  };
  const entry = { vendor_id: '10de', class: '0302' };
  const addBoard = () => {
    const card = { vendor: '10de', product: '2330', classCode: '030200' };
    for (const address of [gpu, '0000:1c:00.0']) host.tree.addFunction({ ...card, address });
    const nvidia = { vendor: '10de', product: '22a3', classCode: '068000' };
    host.tree.addFunction({ ...nvidia, address: nvswitch });
  };

  it.each([
    ['0', 'mode 0 (bare metal and full passthrough): a guest needs the whole board;'],
    ['1', 'mode 1 (shared NVSwitches): a guest needs an active partition, and a driver of this'],
    ['2', 'mode 2 (vGPUs): a guest needs an active partition'],
    ['7', 'mode 7 (unknown): a guest needs the whole board or an active partition; else'],
  ])('prints mode %s, the release, and the refused GPUs', async (mode, expected) => {
    addBoard();
    const whole = { vendor: '1002', product: '74a1', classCode: '120000' };
    host.tree.addFunction({ ...whole, address: '0000:05:00.0' });
    const hardware = hardwareWith(settingsOf(mode), '580.159.03');
    const allow_list = [{ vendor_id: '1002', product_id: '74a1' }, entry];
    const [line, ...others] = (await examine(hardware, { allow_list })) ?? [];
    expect(line?.outcome).toBe('seen');
    expect(line?.what).toContain(`Fabric Manager: release 580.159.03, ${expected}`);
    expect(line?.what).toContain(`Not offered for this reason: ${gpu} and 1 more.`);
    expect(others).toEqual([]);
  });

  it.each([
    [undefined, '580.159.03', 'release 580.159.03, its mode is not seen'],
    [settingsOf('1'), undefined, 'its release is not seen, mode 1'],
  ])('prints what it does not see', async (settings, version, expected) => {
    addBoard();
    const allow_list = [{ ...entry, fabric_ready: true }];
    const seen = await examine(hardwareWith(settings, version), { allow_list });
    expect(seen).toEqual([
      { outcome: 'not seen', what: expect.stringContaining(`Fabric Manager: ${expected}`) },
    ]);
    expect(seen?.[0]?.what).toContain('No GPU is refused for this reason.');
  });

  it('names the service VM in which the Fabric Manager runs', async () => {
    addBoard();
    const settings = {
      allow_list: [entry],
      fabric_manager: { hostname: '192.168.122.2' },
    };
    const what = expect.stringContaining('it runs at 192.168.122.2. Not offered for this reason');
    const seen = await examine(hardwareWith(settingsOf('0'), '580.1'), settings);
    expect(seen).toEqual([{ outcome: 'not seen', what }]);
  });

  it('is one of driver nvidia_gpu for its own cards, and none without such a board', async () => {
    const cards = (addresses: string) => ({ made: 'at-bind', cards: [{ addresses }] });
    const hardware = hardwareWith(settingsOf('1'), '580.159.03');
    addBoard();
    expect(await examine(hardware, cards(gpu), 'nvidia_gpu')).toHaveLength(1);
    expect(await examine(hardware, cards('0000:99:00.0'), 'nvidia_gpu')).toEqual([]);
    host.tree.removeFunction(nvswitch);
    expect(await examine(hardware, cards(gpu), 'nvidia_gpu')).toEqual([]);
  });
});

describe('network functions that manage NVSwitches', () => {
  /** Fields as lspci shows them of a board's ConnectX-7 and of a plain one. */
  const vpd = (module: string) => `\x82\x0b\x00ConnectX-7\x90\x20\x00PN\x04P123V3\x0b${module}`;
  const ports = ['0000:05:00.0', '0000:05:00.1', '0000:05:00.2', '0000:05:00.3'];
  const plain = '0000:18:00.0';
  const record = new URL('../../../hosts/records/dgx-b200.txt', import.meta.url);

  it.each([
    ['pci', { allow_list: [{ vendor_id: '15b3', product_id: '1021', bind_to: 'vfio-pci' }] }],
    ['nic', { cards: [{ addresses: [...ports, plain], bind_to: 'vfio-pci' }] }],
  ])('stay with the host of a DGX B200: driver %s', async (driver, settings) => {
    const b200 = buildHost(parseHost(readFileSync(record, 'utf8')));
    try {
      for (const address of [...ports, plain]) {
        const text = vpd(address === plain ? 'SMDL=NVD' : 'SMDL=SW_MNG');
        b200.tree.write(`${b200.tree.pathOf(address)}/vpd`, text);
      }
      const { reasons, plan } = await discoverWith(b200, driver, settings);
      const managed = 'manages the NVSwitches of this board (SW_MNG): the Fabric Manager needs';
      for (const port of ports) expect(reasons[port]).toContain(managed);
      expect(reasons[plain] ?? '').not.toContain('SW_MNG');
      expect(plan.filter((each) => each.includes('manages the NVSwitches'))).toHaveLength(4);
    } finally {
      b200.remove();
    }
  });

  it.each([
    ['2901', 'may manage the NVSwitches of this board: no VPD (EIO)'],
    ['2331', undefined],
  ])('are not offered beside a %s while their VPD cannot be read', async (product, expected) => {
    const nic = { vendor: '15b3', product: '1021', classCode: '020700', driver: undefined };
    host.tree.addFunction({ ...nic, address: plain });
    host.tree.addFunction({ address: gpu, vendor: '10de', product, classCode: '030200' });
    const readBytes: Hardware['readBytes'] = (device, path, count) =>
      path.endsWith('/vpd')
        ? Promise.reject(new HardwareError('EIO', path))
        : host.hardware.readBytes(device, path, count);
    const settings = { allow_list: [{ vendor_id: '15b3', device_type: 'NIC' }] };
    const hardware = { ...host.hardware, readBytes };
    const { offered, reasons } = await discoverWith(host, 'pci', settings, { hardware });
    expect(reasons[plain]).toBe(expected);
    expect(offered).toHaveLength(expected === undefined ? 1 : 0);
  });

  it('stay offered while their VPD cannot be read, since a server may have them', async () => {
    const nic = { vendor: '15b3', product: '1021', classCode: '020700', driver: undefined };
    host.tree.addFunction({ ...nic, address: plain });
    host.tree.addFunction({ address: gpu, vendor: '10de', product: '2901', classCode: '030200' });
    let isBroken = false;
    const readBytes: Hardware['readBytes'] = async (device, path, count) => {
      if (!path.endsWith('/vpd')) return await host.hardware.readBytes(device, path, count);
      throw new HardwareError(isBroken ? 'EIO' : 'ENOENT', path);
    };
    const settings = { allow_list: [{ vendor_id: '15b3', device_type: 'NIC' }] };
    const guards = await host.guards();
    for (isBroken of [false, true]) {
      const hardware = { ...host.hardware, readBytes };
      const { offered } = await discoverWith(host, 'pci', settings, { hardware, guards });
      expect(offered).toHaveLength(1);
    }
  });
});
