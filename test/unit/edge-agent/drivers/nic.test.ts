import { describe, expect, it } from 'vitest';
import { HardwareError } from '#agent/hardware/errno.ts';
import { card, divided, NicHost } from '#test/drivers/nic/host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const [first, second] = ['0000:3d:00.1', '0000:5e:00.0'] as const;
const host = perTest(() => new NicHost());
/** Its card has no virtual functions. */
const bare = perTest(() => new NicHost(0));

describe('what driver nic reports', () => {
  it('is a card with its functions, the network and the traits of Cyborg', async () => {
    const settings = { ...divided.cards[0], physical_network: 'physnet-1', function: 'GTPv1' };
    const { [card]: device } = await host.start({ cards: [settings] });
    expect(device).toMatchObject({
      type: 'NIC',
      vendor: '8086',
      product: '1572',
      driver: 'nic',
      attributes: { interface: 'ens1', eswitch: 'legacy' },
    });
    expect(device?.offers?.resource_class).toBe('CUSTOM_NIC');
    expect(device?.offers?.traits).toEqual(
      expect.arrayContaining(['CUSTOM_VF', 'CUSTOM_PHYSNET_1', 'CUSTOM_GTPV1']),
    );
    const info = { domain: '0000', bus: '3d', device: '00', physical_network: 'physnet-1' };
    expect(device?.offers?.attach_handles).toEqual([
      { type: 'PCI', info: { ...info, function: '1' }, clean_seconds: 240 },
      { type: 'PCI', info: { ...info, function: '2' }, clean_seconds: 240 },
    ]);
  });

  it('is a whole card, also on vfio-pci without an interface', async () => {
    bare.kernel.removeInterface(card, 'ens1');
    bare.host.tree.removeFunction(card);
    bare.host.tree.addFunction({ address: card, vendor: '8086', classCode: '020000' });
    const { [card]: device } = await bare.start({ cards: [{ addresses: [card] }] });
    expect(device?.offers?.traits).toContain('CUSTOM_PF');
    expect(device?.offers?.attach_handles).toHaveLength(1);
    expect(device?.health).toBeUndefined();
  });

  it('tells the uplink from representors in switchdev mode', async () => {
    host.kernel.addInterface(card, 'ens1_0', 'pf0vf0').addInterface(card, 'ens1_1', 'c1pf0vf1');
    host.kernel.addInterface(card, 'ens1', 'p0');
    host.kernel.at(card).switchId = '0a0b';
    const { [card]: device } = await host.start(divided);
    expect(device?.attributes).toEqual({
      interface: 'ens1',
      eswitch: 'switchdev',
      switch_id: '0a0b',
      representors: '2',
    });
    expect(device?.offers?.traits).toContain('CUSTOM_NIC_SWITCHDEV');
  });

  it('has the firmware that devlink prints, and none if it prints nonsense', async () => {
    const running = { 'fw.mgmt': '9.20', 'fw.undi': '1.3429.0' };
    host.kernel.devlink = JSON.stringify({ info: { [`pci/${card}`]: { versions: { running } } } });
    expect((await host.start(divided))[card]?.firmware).toBe('9.20');
    host.kernel.devlink = 'kernel answers: Operation not supported';
    expect((await host.start(divided))[card]?.firmware).toBeUndefined();
  });

  it('is degraded without a link, since the discovery that has seen it first', async () => {
    host.kernel.at(card).flags = ['NO-CARRIER', 'BROADCAST', 'UP'];
    host.nowMs = 5_000;
    const { [card]: device } = await host.start(divided);
    host.nowMs = 65_000;
    expect((await host.discover())[card]?.health).toEqual(device?.health);
    expect(device?.health).toEqual({
      state: 'degraded',
      reason: 'has no link at its interface ens1',
      since: '1970-01-01T00:00:05.000Z',
    });
    host.kernel.at(card).flags = ['BROADCAST', 'UP', 'LOWER_UP'];
    expect((await host.discover())[card]?.health).toBeUndefined();
  });

  it('is unhealthy after a fatal PCIe error', async () => {
    host.host.tree.write(`${host.host.tree.pathOf(card)}/aer_dev_fatal`, 'TOTAL_ERR_FATAL 1\n');
    expect((await host.start(divided))[card]?.health?.state).toBe('unhealthy');
  });
});

describe('what driver nic does not offer', () => {
  it.each([
    ['0000:ff:00.0', 'is not on this host'],
    [first, `is a virtual function: name its card, ${card}`],
    [second, 'has class 030200, and network cards have class 02'],
  ])('is %s, which %s', async (address, reason) => {
    host.host.tree.addFunction({ address: second });
    await host.start({ cards: [{ addresses: address }] });
    expect(await host.reasons()).toEqual({ [address]: reason });
  });

  it('is a card without virtual functions that is to be offered by them', async () => {
    await bare.start(divided);
    const reason =
      'has no virtual functions: set virtual_functions to a number, or make them otherwise';
    expect(await bare.reasons()).toEqual({ [card]: reason });
  });

  it('is a card whose virtual functions the agent could not make', async () => {
    await bare.start({ cards: [{ addresses: card, virtual_functions: 300 }] });
    const reason = 'has no virtual functions yet: the command plan prints why';
    expect(await bare.reasons()).toEqual({ [card]: reason });
  });

  it('is a whole card with the default route of the host; its functions are offered', async () => {
    host.route('ens1');
    expect(Object.keys(await host.start(divided))).toEqual([card]);
    bare.route('ens1');
    expect(await bare.start({ cards: [{ addresses: card, bind_to: 'vfio-pci' }] })).toEqual({});
    const reason = `carries the host's default route: ens1`;
    expect(await bare.reasons()).toEqual({ [card]: reason });
    expect(bare.host.sysfs.linkName(`bus/pci/devices/${card}/driver`)).toBe('i40e');
  });

  it.each([['bond0'], ['br0'], ['ovs-system']])('is a whole card in %s', async (upper) => {
    const { tree } = bare.host;
    tree.link(`${tree.pathOf(card)}/net/ens1/master`, `devices/virtual/net/${upper}`);
    await bare.start({ cards: [{ addresses: card }] });
    const reason = `carries another network interface: ${upper} uses ens1`;
    expect(await bare.reasons()).toEqual({ [card]: reason });
  });

  it('is a card that fell off the bus, in each state', async () => {
    const { tree } = host.host;
    expect(Object.keys(await host.start(divided))).toEqual([card]);
    tree.write(`${tree.pathOf(card)}/config`, Buffer.alloc(256, 0xff));
    expect(await host.discover()).toEqual({});
    expect((await host.reasons())[card]).toBe('fell off the bus');
    tree.write(`${tree.pathOf(first)}/config`, Buffer.alloc(64, 0xff));
    await expect(host.clean(card, first)).rejects.toThrow('fell off the bus');
  });

  it.each([
    ['nonsense', 'ip link show ens1 printed what is not valid for it.'],
    ['[]', 'ip link show ens1 printed what is not valid for it.'],
    [new HardwareError('ETIMEDOUT', 'no answer within 10 s'), 'ETIMEDOUT: no answer within 10 s'],
  ])('is a card whose functions ip does not tell: %s', async (output, reason) => {
    host.kernel.output = output;
    expect(await host.start(divided)).toEqual({});
    const whole = `cannot show its virtual functions (${reason})`;
    expect((await host.reasons())[card]).toBe(whole);
    // Driver `pci` cleans them by a reset, which needs no interface.
    const reset = { cards: [{ ...divided.cards[0], clean: 'reset' }] };
    expect(Object.keys(await host.start(reset))).toEqual([card]);
  });

  it('is a card with two interfaces, or with one of another card', async () => {
    host.kernel.addInterface(card, 'ens1d1');
    expect(await host.start(divided)).toEqual({});
    expect((await host.reasons())[card]).toBe('has several network interfaces: ens1, ens1d1');
    host.kernel.removeInterface(card, 'ens1d1');
    host.kernel.parent = second;
    expect((await host.reasons())[card]).toContain(`The interface ens1 is not that of ${card}`);
  });

  it('stays offered and is unhealthy while ip fails, once the functions are known', async () => {
    await host.start(divided);
    host.kernel.output = 'nonsense';
    const { [card]: device } = await host.discover();
    expect(device?.offers?.attach_handles).toHaveLength(2);
    expect(device?.health?.state).toBe('unhealthy');
  });
});
