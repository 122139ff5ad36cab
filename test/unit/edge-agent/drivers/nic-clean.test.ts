import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { card, divided, NicHost } from '#test/drivers/nic/host.ts';
import { untouched } from '#test/drivers/nic/kernel.ts';
import { perTest } from '#test/support/vitest/shared.ts';

/** The virtual functions of the card. */
const [first, other] = ['0000:3d:00.1', '0000:3d:00.2'] as const;
const tenants = {
  address: '02:11:22:33:44:55',
  vlan: 100,
  qos: 3,
  max: 100,
  min: 10,
  spoofchk: false,
  trust: true,
  state: 'enable' as const,
};
const host = perTest(() => new NicHost());
const withOne = perTest(() => new NicHost(1));
/** Its card has no virtual functions. */
const bare = perTest(() => new NicHost(0));

describe('cleaning a virtual function', () => {
  beforeEach(() => host.start(divided));

  it('brings back all that its card holds of it, and says so', async () => {
    Object.assign(host.kernel.functionAt(card, 0), tenants);
    Object.assign(host.kernel.functionAt(card, 1), tenants);
    expect(await host.clean(card, first)).toMatchObject({
      cleaned_by: 'reset and restore',
      reset_method: 'flr',
      restored: 'MAC address, VLAN, highest rate, link state, lowest rate, spoof check, trust',
      restored_from: 'the state before its holder',
      mac: '00:00:00:00:00:00',
      vlan: '0',
      max_tx_rate: 0,
      min_tx_rate: 0,
      spoof_check: true,
      trust: false,
      link_state: 'auto',
    });
    expect(host.kernel.functionAt(card, 0)).toEqual(untouched);
    expect(host.kernel.functionAt(card, 1)).toEqual(tenants);
  });

  it('fails if the card no longer shows what it showed before the holder', async () => {
    Object.assign(host.kernel.functionAt(card, 0), { spoofchk: undefined });
    await expect(host.clean(card, first)).rejects.toThrow(
      `The card ${card} does not show the setting spoof_check of ${first}, and did before.`,
    );
  });

  it('sets nothing where nothing has changed', async () => {
    expect(await host.clean(card, first)).toMatchObject({ restored: 'nothing' });
    expect(host.kernel.ran).toEqual([]);
  });

  it('does not take what a holder has left for the state before it', async () => {
    mkdirSync(host.directory, { recursive: true });
    writeFileSync(join(host.directory, 'functions.json'), '{ torn');
    Object.assign(host.kernel.functionAt(card, 0), tenants);
    await host.start(divided);
    expect(await host.clean(card, first)).toMatchObject({
      restored_from: 'defaults of the kernel',
    });
    expect(host.kernel.functionAt(card, 0)).toEqual(untouched);
  });

  it('gives a fresh address where the card takes none of zeros', async () => {
    host.kernel.functionAt(card, 0).address = tenants.address;
    const says = 'RTNETLINK answers: Cannot assign requested address';
    host.kernel.at(card).refuses.set('mac', { says, once: true });
    const { mac } = await host.clean(card, first);
    expect(mac).toMatch(/^02:/);
    expect(mac).not.toBe(tenants.address);
  });

  it('waits while the card resets the function', async () => {
    host.kernel.functionAt(card, 0).vlan = 100;
    const says = 'RTNETLINK answers: Resource temporarily unavailable';
    host.kernel.at(card).refuses.set('vlan', { says, once: true });
    expect(await host.clean(card, first)).toMatchObject({ vlan: '0' });
  });

  it.each([
    ['vlan', 'The VLAN of 0000:3d:00.1 is 100 qos 3, not 0: RTNETLINK answers: No.'],
    ['trust', 'The trust of 0000:3d:00.1 is true, not false: RTNETLINK answers: No.'],
    ['spoofchk', 'The spoof check of 0000:3d:00.1 is false, not true: RTNETLINK answers: No.'],
    ['state', 'The link state of 0000:3d:00.1 is enable, not auto: RTNETLINK answers: No.'],
  ])('fails while the card refuses %s', async (word, sentence) => {
    Object.assign(host.kernel.functionAt(card, 0), tenants);
    host.kernel.at(card).refuses.set(word, { says: 'RTNETLINK answers: No' });
    await expect(host.clean(card, first)).rejects.toThrow(sentence);
  });

  it('fails while a process has the function open, and touches nothing', async () => {
    host.kernel.functionAt(card, 0).vlan = 100;
    host.host.openVfio(first);
    await expect(host.clean(card, first)).rejects.toThrow('is open: process 31 (qemu)');
    expect(host.kernel.functionAt(card, 0).vlan).toBe(100);
  });

  it('fails when the function or the interface of its card is gone', async () => {
    host.kernel.removeInterface(card, 'ens1');
    await expect(host.clean(card, first)).rejects.toThrow('has no network interface');
    host.host.tree.removeFunction(other);
    await expect(host.clean(card, other)).rejects.toThrow('no longer there');
  });

  it('finds the interface under its new name', async () => {
    host.kernel.functionAt(card, 0).vlan = 100;
    host.kernel.removeInterface(card, 'ens1');
    host.kernel.at(card).interface = 'enp61s0f0np0';
    host.kernel.addInterface(card, 'enp61s0f0np0');
    expect(await host.clean(card, first)).toMatchObject({ vlan: '0' });
  });
});

describe('the state before a holder', () => {
  it('brings back what the operator had set, also after a restart and a boot', async () => {
    const own = { address: '02:00:00:00:00:07', vlan: 7, trust: true };
    Object.assign(host.kernel.functionAt(card, 0), own);
    await host.start(divided);
    Object.assign(host.kernel.functionAt(card, 0), tenants);
    await host.start(divided);
    const { vlan, restored } = await host.clean(card, first);
    expect({ vlan, restored }).toEqual({
      vlan: '7',
      restored: 'MAC address, VLAN, highest rate, link state, lowest rate, spoof check',
    });
    expect(host.kernel.functionAt(card, 0)).toEqual({ ...untouched, ...own });
  });

  it('is not remembered of a function that a guest has open', async () => {
    host.host.openVfio(first);
    const { [card]: device } = await host.start(divided);
    expect(device?.offers?.attach_handles).toHaveLength(1);
    expect((await host.reasons())[first]).toContain('is open: process 31 (qemu)');
  });
});

describe('the number of virtual functions', () => {
  const four = { cards: [{ addresses: card, virtual_functions: 4, bind_to: 'vfio-pci' }] };

  it('is made on a card that carries the host, while none is used', async () => {
    bare.route('ens1');
    const { [card]: device } = await bare.start(four);
    expect(device?.offers?.attach_handles).toHaveLength(4);
  });

  it('is not changed while one is offered, or is open', async () => {
    await host.start(divided);
    await host.start(four);
    const change = { address: card, what: 'number of virtual functions', before: '2', after: '4' };
    const refusal = `${first} is offered to guests`;
    expect(await host.plan()).toEqual([{ ...change, refusal }]);
    withOne.host.openVfio(first);
    await withOne.start(four);
    expect(await withOne.plan()).toMatchObject([
      { refusal: `${first} is open: process 31 (qemu) uses /dev/vfio/2` },
    ]);
  });

  it('is not changed while a bridge has the representor of one', async () => {
    const { tree } = host.host;
    host.kernel.addInterface(card, 'ens1_0', 'pf0vf0').addInterface(card, 'ens1', 'p0');
    tree.link(`${tree.pathOf(card)}/net/ens1_0/master`, 'devices/virtual/net/ovs-system');
    host.kernel.output = 'nonsense';
    await host.start(four);
    expect(await host.plan()).toMatchObject([{ refusal: 'ovs-system uses ens1_0' }]);
  });
});
