// Driver pci on a host with libvirt's definitions of servers: what it binds, makes and offers.

import { beforeEach, describe, expect, it } from 'vitest';
import type { Hardware } from '#agent/hardware/port.ts';
import { setUp } from '#agent/process/set-up.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const card = '0000:3b:00.0';
const first = '0000:3b:00.1';
const second = '0000:3b:00.2';
const server = 'instance-0000001f';
const belongs = `belongs to a server: the domain ${server} of libvirt has it`;
const virtual = { vendor: '8086', product: '154c', classCode: '020000', driver: undefined };
const entry = {
  vendor_id: '8086',
  product_id: '154c',
  virtual_functions: 2,
  bind_to: 'vfio-pci',
  clean: 'reset',
};

const host = perTest(aGuardedHost);

beforeEach(() => {
  host.tree.write('bus/pci/drivers/vfio-pci/bind', '');
  aCard();
});

const aKernel = () => new PciKernel(host.tree, virtual, {});
const driverNow = (address: string) => host.sysfs.linkName(`bus/pci/devices/${address}/driver`);

function aCard(): void {
  aKernel().addCard({
    address: card,
    ...virtual,
    product: '1572',
    driver: 'i40e',
    sriovTotalvfs: 4,
  });
}

/** Starts the agent: set-up and discovery. */
async function start(entries: readonly object[] = [entry]) {
  const hardware: Hardware = {
    ...host.hardware,
    writeText: async (device, path, text) => {
      await host.hardware.writeText(device, path, text);
      aKernel().effect(path, text);
    },
  };
  const driver = await host.pciDriver(entries, hardware);
  const { left } = await setUp(driver, host.log);
  const { devices, notOffered = [] } = await driver.discover();
  const handles = devices[card]?.offers?.attach_handles ?? [];
  return {
    driver,
    left,
    reasons: Object.fromEntries(notOffered.map(({ address, reason }) => [address, reason])),
    functions: handles.map(({ info }) => info.function),
  };
}

describe('a virtual function of a stopped server', () => {
  beforeEach(() => host.tree.addVirtualFunctions(card, 2, virtual));

  it('is neither bound nor offered, and the one beside it is', async () => {
    host.domains.define(server, [first]);
    const { left, reasons, functions } = await start();
    expect(left).toEqual([`The driver of ${first} is none, not vfio-pci: ${first} ${belongs}.`]);
    expect(reasons).toEqual({ [first]: belongs });
    expect(functions).toEqual(['2']);
    expect([driverNow(first), driverNow(second)]).toEqual([undefined, 'vfio-pci']);
    host.domains.undefine(server);
    expect((await start()).functions).toEqual(['1', '2']);
    expect(driverNow(first)).toBe('vfio-pci');
  });

  it('is not removed for another number of them', async () => {
    host.domains.define(server, [second]);
    const { left } = await start([{ ...entry, virtual_functions: 4 }]);
    expect(left).toContain(
      `The number of virtual functions of ${card} is 2, not 4: ${second} ${belongs}.`,
    );
    expect(aKernel().virtualOf(card)).toHaveLength(2);
  });
});

describe('virtual functions of servers of this service', () => {
  it('are made, bound and offered again after a boot, and cleaned', async () => {
    expect((await start()).functions).toEqual(['1', '2']);
    host.domains.define(server, [first]).define('instance-00000020', [second]);
    for (const address of [first, second, card]) host.tree.removeFunction(address);
    aCard();
    const { driver, left, reasons, functions } = await start();
    expect([left, reasons, functions]).toEqual([[], {}, ['1', '2']]);
    expect([driverNow(first), driverNow(second)]).toEqual(['vfio-pci', 'vfio-pci']);
    // The server was evacuated, and nova-compute has not removed it from libvirt yet.
    const info = { ...parsePciAddress(first) };
    const handle = { address: card, uuid: 'u', type: 'PCI', info } as const;
    expect(await driver.clean?.(handle, () => {})).toMatchObject({ reset_method: 'flr' });
  });
});
