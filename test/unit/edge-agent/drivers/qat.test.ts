import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findChip } from '#agent/drivers/qat/card.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { QatKernel } from '#test/drivers/qat/kernel.ts';
import { DriverHost } from '#test/support/hosts/driver-host.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const [card, second] = ['0000:6b:00.0', '0000:70:00.0'] as const;
const first = '0000:6b:00.1';
const divided = { addresses: card, bind_to: 'vfio-pci' };

class QatHost extends DriverHost {
  readonly kernel: QatKernel;
  /** Code of a read of the heartbeat that fails. */
  heartbeatFault: string | undefined;

  constructor(hasCard = true) {
    super(ownDriver('qat'), ({ hardware }) => ({
      ...this.kernel.hardware(),
      readText: async (device, path) => {
        const fault = path.endsWith('/heartbeat/status') ? this.heartbeatFault : undefined;
        if (fault !== undefined) throw new HardwareError(fault, path);
        return await hardware.readText(device, path);
      },
    }));
    this.kernel = new QatKernel(this.host.tree);
    if (hasCard) this.kernel.addCard({ address: card });
  }

  /** The operator takes the card out of the settings and puts it back. */
  async restart(settings: object): Promise<void> {
    const other = { addresses: second };
    await this.start({ cards: [other] });
    await this.start({ cards: [settings] });
  }
}

const host = perTest(() => new QatHost());
/** It has no card. */
const bare = perTest(() => new QatHost(false));

describe('what driver qat reports', () => {
  it('is a card with all of its virtual functions, and a trait for each service', async () => {
    const { [card]: device } = await host.start({ cards: [divided] });
    expect(device).toMatchObject({
      type: 'QAT',
      vendor: '8086',
      product: '4940',
      model: 'QAT 4xxx',
      attributes: { family: '4xxx', generation: '4', services: 'sym;asym', ring_pairs: '64' },
    });
    expect(device?.offers).toMatchObject({ resource_class: 'CUSTOM_QAT' });
    expect(device?.offers?.attach_handles).toHaveLength(4);
    expect(device?.offers?.traits).toEqual(
      expect.arrayContaining([
        ...['CUSTOM_QAT_GEN4', 'CUSTOM_QAT_4XXX', 'CUSTOM_QAT_SYM', 'CUSTOM_QAT_ASYM'],
      ]),
    );
    expect(device?.offers?.traits).not.toContain('CUSTOM_QAT_DC');
    expect(device?.health).toBeUndefined();
  });

  it('is a card of generation 2, whose driver has no settings', async () => {
    bare.kernel.addOld({ address: card, product: '37c8', driver: 'c6xx' }, 2);
    const { [card]: device } = await bare.start({ cards: [divided] });
    expect(device?.attributes).toMatchObject({ family: 'c62x', generation: '2' });
    expect(device?.offers?.attach_handles).toHaveLength(2);
  });

  it('tells the chip of a c62x by the switch above its functions', async () => {
    const { tree, sysfs } = bare.host;
    const place = 'devices/pci0000:67/0000:67:02.0/0000:69:00.0/0000:6a:08.0';
    tree.write(`${place}/${card}/x`, '').link(`bus/pci/devices/${card}`, `${place}/${card}`);
    const fn = { address: card, path: `bus/pci/devices/${card}` };
    expect(findChip(sysfs, fn)).toBe('0000:69:00.0');
    expect(findChip(sysfs, { ...fn, address: second })).toBeUndefined();
  });

  it('is a whole card, whose services its holder sets', async () => {
    bare.kernel.addOld({ address: card, product: '4940', driver: 'vfio-pci' });
    const whole = { addresses: card, virtual_functions: false };
    const { [card]: device } = await bare.start({ cards: [whole] });
    expect(device?.offers?.attach_handles).toMatchObject([{ clean_seconds: 300 }]);
    expect(device?.attributes).toEqual({ family: '4xxx', generation: '4' });
  });

  it.each([
    ['-1\n\0', 'unhealthy', 'does not answer its heartbeat'],
    ['0\n\0', undefined, undefined],
    ['nonsense', undefined, undefined],
  ])('has the health of the heartbeat %j', async (status, state, reason) => {
    await host.start({ cards: [divided] });
    host.kernel.heartbeat(card, status);
    const { [card]: device } = await host.discover();
    expect(device?.health?.state).toBe(state);
    expect(device?.health?.reason).toBe(reason);
  });

  it.each([
    ['fatal', 'unhealthy', 'has had 2 fatal errors since it came up'],
    ['nonfatal', 'degraded', 'has had 2 uncorrectable errors since it came up'],
    ['correctable', undefined, undefined],
  ])('has the health of its %s errors', async (kind, state, reason) => {
    const { tree } = host.host;
    await host.start({ cards: [divided] });
    tree.write(`${tree.pathOf(card)}/qat_ras/errors_${kind}`, '2\n');
    host.nowMs = 60_000;
    const { [card]: device } = await host.discover();
    expect(device?.health?.state).toBe(state);
    expect(device?.health?.reason).toBe(reason);
    host.nowMs = 120_000;
    expect((await host.discover())[card]?.health).toEqual(device?.health);
  });
});

describe('what driver qat does not offer', () => {
  it.each([
    ['0000:ff:00.0', 'is not on this host'],
    [second, 'is 10de:2235, which is no known QAT card'],
  ])('is %s, which %s', async (address, reason) => {
    host.host.tree.addFunction({ address: second });
    await host.start({ cards: [{ addresses: address }] });
    expect(await host.reasons()).toEqual({ [address]: reason });
  });

  it('is a virtual function, named in place of its card', async () => {
    await host.start({ cards: [divided] });
    await host.start({ cards: [{ addresses: first }] });
    const reason = `is a virtual function: name its card, ${card}`;
    expect(await host.reasons()).toEqual({ [first]: reason });
  });

  it('is a card that the kernel cannot start with the services', async () => {
    host.kernel.at(card).fails = 'dc';
    const settings = { cards: [{ ...divided, services: ['dc'] }] };
    expect(await host.start(settings)).toEqual({});
    expect(await host.reasons()).toEqual({ [card]: 'is down' });
    host.kernel.at(card).fails = undefined;
    expect(Object.keys(await host.discover())).toEqual([card]);
  });

  it.each([
    ['qat/state', 'sideways', 'has an unknown state'],
    ['qat/cfg_services', 'sym;rsa', 'has an unknown list of services'],
  ])('is a card whose %s is %s', async (file, text, reason) => {
    const { tree } = host.host;
    await host.start({ cards: [divided] });
    tree.write(`${tree.pathOf(card)}/${file}`, `${text}\n`);
    expect(await host.discover()).toEqual({});
    expect((await host.reasons())[card]).toBe(reason);
  });

  it('is a card that fell off the bus', async () => {
    const { tree } = host.host;
    await host.start({ cards: [divided] });
    tree.write(`${tree.pathOf(card)}/config`, Buffer.alloc(256, 0xff));
    expect(await host.discover()).toEqual({});
    expect((await host.reasons())[card]).toBe('fell off the bus');
  });
});

describe('the services of a card', () => {
  const withServices = { ...divided, services: ['dc', 'sym'] };
  const steps = (host: QatHost) =>
    host.kernel.written.filter((each) => /^(state|cfg_services|sriov_numvfs) /.test(each));

  it('are set while it is down, before its virtual functions are made', async () => {
    const { [card]: device } = await host.start({ cards: [withServices] });
    expect(steps(host)).toEqual([
      ...['state down', 'cfg_services dc;sym', 'state up', 'sriov_numvfs 4'],
    ]);
    expect(device?.attributes?.services).toBe('sym;dc');
    expect(device?.offers?.attach_handles).toHaveLength(4);
    expect(await host.plan()).toEqual([]);
  });

  it('stay in another order, and when the settings name none', async () => {
    bare.kernel.addCard({ address: card }, { services: 'sym;dc' });
    await bare.start({ cards: [withServices] });
    await bare.start({ cards: [divided] });
    expect(steps(bare)).toEqual(['sriov_numvfs 4']);
  });

  it('are brought back after a boot', async () => {
    await host.start({ cards: [withServices] });
    host.kernel.reboot();
    const { [card]: device } = await host.start({ cards: [withServices] });
    expect(device?.attributes?.services).toBe('sym;dc');
    expect(device?.offers?.attach_handles).toHaveLength(4);
  });

  it('are not changed while a function is offered, and the card stays in the report', async () => {
    await host.start({ cards: [divided] });
    const { [card]: device } = await host.start({ cards: [withServices] });
    const change = { address: card, what: 'list of services', before: 'sym;asym', after: 'dc;sym' };
    expect(await host.plan()).toEqual([{ ...change, refusal: `${first} is offered to guests` }]);
    expect(device?.offers?.traits).toContain('CUSTOM_QAT_ASYM');
    expect(host.kernel.at(card).state).toBe('up');
  });

  it('are not changed after a discovery that could not read the card of a stopped guest', async () => {
    await host.start({ cards: [divided] });
    await host.start({ cards: [withServices] });
    const { tree } = host.host;
    tree.write(`${tree.pathOf(card)}/qat/state`, '\n');
    expect(await host.discover()).toEqual({});
    tree.write(`${tree.pathOf(card)}/qat/state`, 'up\n');
    expect(await host.plan()).toMatchObject([{ refusal: `${first} is offered to guests` }]);
    expect(Object.keys(await host.discover())).toEqual([card]);
  });

  it('are not changed while a guest has a function open, and are afterwards', async () => {
    await host.start({ cards: [divided] });
    host.host.openVfio(first);
    await host.restart(withServices);
    expect(await host.plan()).toMatchObject([
      { refusal: expect.stringContaining(`${first} is open: process 31 (qemu)`) },
    ]);
    expect((await host.reasons())[card]).toBe(
      'runs the services sym;asym, and its settings ask for dc;sym',
    );
    expect(host.kernel.virtualOf(card)).toHaveLength(4);
  });

  it('are checked again right before the card goes down', async () => {
    await host.start({ cards: [divided] });
    host.host.openVfio(first);
    await host.restart(withServices);
    rmSync(join(host.host.proc.root, '31'), { recursive: true });
    const [down] = await host.plan();
    if (!down || !('apply' in down)) throw new Error('The card is not taken down.');
    host.host.openVfio(first);
    await expect(down.apply()).rejects.toThrow(`${first} is open`);
    expect(host.kernel.at(card).state).toBe('up');
  });

  it('are not set where the driver refuses or ignores them', async () => {
    host.kernel.at(card).isBusy = true;
    expect(await host.start({ cards: [withServices] })).toEqual({});
    expect(host.kernel.at(card)).toMatchObject({ state: 'up', services: 'sym;asym' });
    bare.kernel.addCard({ address: card }, { ignores: true });
    expect(await bare.start({ cards: [withServices] })).toEqual({});
    expect(steps(bare)).toContain('cfg_services dc;sym');
    expect(steps(bare)).not.toContain('sriov_numvfs 4');
  });

  it.each([
    ['4940', ['sym', 'asym', 'dc'], 'the family 4xxx runs at most 2 services'],
    ['4940', ['decomp'], 'the family 4xxx does not have the service decomp'],
    ['37c8', ['sym'], 'services of the family c62x cannot be set'],
  ])('are refused for %s: %s', async (product, services, refusal) => {
    if (product === '4940') bare.kernel.addCard({ address: card });
    else bare.kernel.addOld({ address: card, product, driver: 'c6xx' });
    expect(await bare.start({ cards: [{ ...divided, services }] })).toEqual({});
    expect(await bare.plan()).toMatchObject([{ what: 'list of services', refusal }]);
    expect(steps(host)).toEqual([]);
  });

  it('may be three of generation 6', async () => {
    bare.kernel.addCard({ address: card, product: '4948', driver: '6xxx' });
    const services = ['sym', 'dc', 'decomp'];
    const { [card]: device } = await bare.start({ cards: [{ ...divided, services }] });
    expect(device?.offers?.traits).toContain('CUSTOM_QAT_DECOMP');
  });
});

describe('cleaning', () => {
  beforeEach(() => host.start({ cards: [divided] }));

  it('resets the function, and says that the card is up and answers', async () => {
    expect(await host.clean(card, first)).toMatchObject({
      cleaned_by: 'reset',
      state: 'up',
      services: 'sym;asym',
      heartbeat: '0',
    });
  });

  it('fails if the card does not answer, is down or is gone', async () => {
    host.kernel.heartbeat(card, '-1\n\0');
    await expect(host.clean(card, first)).rejects.toThrow('does not answer');
    host.host.tree.write(`${host.host.tree.pathOf(card)}/qat/state`, 'down\n');
    await expect(host.clean(card, first)).rejects.toThrow('is down');
    host.host.tree.removeFunction(first);
    await expect(host.clean(card, first)).rejects.toThrow('no longer there');
  });

  it.each(['ETIMEDOUT', 'EIO', 'EBUSY', 'EAGAIN'])(
    'fails if the read of the heartbeat ends with %s, as while an earlier read hangs',
    async (code) => {
      bare.kernel.addOld({ address: card, product: '37c8', driver: 'c6xx' }, 2);
      bare.kernel.heartbeat(card, '0', 'c6xx');
      await bare.start({ cards: [divided] });
      bare.heartbeatFault = code;
      await expect(bare.clean(card, first)).rejects.toThrow('does not answer');
      expect((await bare.discover())[card]?.health?.state).toBe('unhealthy');
    },
  );

  it.each(['ENOENT', 'EPERM', 'EACCES'])(
    'needs no heartbeat where the kernel does not show it: %s',
    async (code) => {
      host.heartbeatFault = code;
      expect(await host.clean(card, first)).not.toHaveProperty('heartbeat');
    },
  );

  it('fails while a process has the function open', async () => {
    host.host.openVfio(first);
    await expect(host.clean(card, first)).rejects.toThrow('is open');
  });
});
