import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Components } from '#agent/drivers/contract/driver.ts';
import { card, divided, NicHost } from '#test/drivers/nic/host.ts';
import type { SimulatedFirmware } from '#test/drivers/nic/kernel.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const host = perTest(() => new NicHost());
const firmwareOf = (more = {}) => ({ name: 'fw', version: 'fw.mgmt', ...more });
const ids = { vendor: '8086', product: '1572', subsystem: '8086:0001' };
const heldWhole = { cards: [{ addresses: card, components: [firmwareOf()] }] };

/** Starts the agent with a card that runs 1.0. */
async function start(more: object = {}): Promise<[Components, SimulatedFirmware]> {
  const firmware = host.kernel.addFirmware(card, '1.0');
  const components = [firmwareOf(more)];
  await host.start({ cards: [{ ...divided.cards[0], components }] });
  const { components: verbs } = host.driver;
  if (!verbs) throw new Error('The driver has no components.');
  return [verbs, firmware];
}

function anImage(content = '2.0\n', version = '2.0') {
  const imagePath = join(host.directory, 'images', 'abc.image');
  mkdirSync(dirname(imagePath), { recursive: true });
  writeFileSync(imagePath, content);
  return { address: card, component: 'fw', imagePath, version };
}

describe('a program of firmware through devlink', () => {
  it('flashes, has the card reload, and leaves the list of folders as it was', async () => {
    const [verbs] = await start({ runs_after: 'reload', flash: 'fw.mgmt' });
    const image = anImage();
    await verbs.check(image);
    await verbs.write(image, (percent) => host.percents.push(percent));
    expect(await verbs.list(card)).toEqual([{ name: 'fw', version: '1.0' }]);
    expect(await verbs.activate(anImage())).toBe('active');
    expect(await verbs.list(card)).toEqual([{ name: 'fw', version: '2.0' }]);
    expect(host.kernel.ran).toEqual([
      `dev flash pci/${card} file abc.image component fw.mgmt`,
      `dev reload pci/${card} action fw_activate`,
    ]);
    expect(host.percents).toEqual([0, 100]);
    expect(host.kernel.folder).toBe('');
    expect((await host.discover())[card]?.firmware).toBe('2.0');
  });

  it('leaves the card in the report as it was while devlink writes or reloads it', async () => {
    const [verbs, firmware] = await start({ runs_after: 'reload' });
    const before = await host.discover();
    const listed = await verbs.list(card);
    let times = 0;
    firmware.meanwhile = async () => {
      times += 1;
      expect([await host.discover(), await verbs.list(card)]).toEqual([before, listed]);
    };
    await verbs.write(anImage(), () => {});
    expect(await verbs.activate(anImage())).toBe('active');
    expect(times).toBe(2);
    expect((await host.discover())[card]?.firmware).toBe('2.0');
  });

  it('awaits a power cycle by default, and runs the old version until then', async () => {
    const [verbs, { running, stored }] = await start();
    await verbs.check(anImage());
    await verbs.write(anImage(), () => {});
    expect(await verbs.activate(anImage())).toBe('power-cycle');
    expect(host.kernel.ran).toEqual([`dev flash pci/${card} file abc.image`]);
    expect([running, stored]).toEqual([{ 'fw.mgmt': '1.0' }, { 'fw.mgmt': '2.0' }]);
  });

  it('goes on after an agent that died has left the folder of its images', async () => {
    const [verbs] = await start();
    const image = anImage();
    host.kernel.folder = dirname(image.imagePath);
    await verbs.write(image, () => {});
    expect(host.kernel.folder).toBe('');
  });

  it("fails with the driver's words, and leaves the list of folders as it was", async () => {
    const [verbs, { refuses }] = await start();
    refuses.set('flash', 'Error: i40e: The image is not signed.\nkernel answers: I/O error');
    const failed = verbs.write(anImage(), () => {});
    await expect(failed).rejects.toThrow(
      'devlink dev flash failed: Error: i40e: The image is not signed.',
    );
    expect(host.kernel.folder).toBe('');
  });

  it('flashes nothing while another program has set the list of folders', async () => {
    const [verbs] = await start();
    host.kernel.folder = '/opt/firmware';
    const set = 'firmware_class.path of the kernel is set, to /opt/firmware';
    await expect(verbs.check(anImage())).rejects.toThrow(set);
    await expect(verbs.write(anImage(), () => {})).rejects.toThrow(set);
    expect([host.kernel.folder, host.kernel.ran]).toEqual(['/opt/firmware', []]);
  });

  it('fails if the card then stores another version', async () => {
    const [verbs] = await start();
    await expect(verbs.write(anImage('1.9\n'), () => {})).rejects.toThrow(
      'The card stores version 1.9, not 2.0.',
    );
  });

  it('flashes nothing while a guest has a function of the card', async () => {
    const [verbs] = await start();
    host.host.openVfio('0000:3d:00.1');
    await expect(verbs.write(anImage(), () => {})).rejects.toThrow('The device at 0000:3d:00.1');
    expect(host.kernel.ran).toEqual([]);
  });

  it('refuses an empty image, and a component that the settings do not name', async () => {
    const [verbs] = await start();
    await expect(verbs.check(anImage(''))).rejects.toThrow('The image is empty.');
    await expect(verbs.check({ ...anImage(), component: 'bmc' })).rejects.toThrow(
      `The device at ${card} has no component bmc.`,
    );
  });
});

describe('a reload of firmware', () => {
  it('is refused before the flash where the driver has none', async () => {
    const [verbs, firmware] = await start({ runs_after: 'reload' });
    firmware.reloads = ['driver_reinit'];
    await expect(verbs.check(anImage())).rejects.toThrow('set runs_after to power-cycle');
  });

  it('is refused before the flash while a guest has a function of another port', async () => {
    const [verbs] = await start({ runs_after: 'reload' });
    const port = '0000:3d:00.7';
    host.host.tree.addFunction({ address: port, vendor: '8086', classCode: '020000' });
    host.host.openVfio(port);
    await expect(verbs.check(anImage())).rejects.toThrow(`The device at ${port}`);
  });

  it('is refused before the flash while a bridge has a representor of the card', async () => {
    const [verbs] = await start({ runs_after: 'reload' });
    const { tree } = host.host;
    host.kernel.addInterface(card, 'ens1', 'p0').addInterface(card, 'ens1_0', 'pf0vf0');
    tree.link(`${tree.pathOf(card)}/net/ens1_0/master`, 'class/net/br0');
    await expect(verbs.check(anImage())).rejects.toThrow(
      `The device at ${card} carries another network interface: br0 uses ens1_0.`,
    );
  });

  it('that the kernel refuses leaves the card to the next power cycle', async () => {
    const [verbs, { refuses }] = await start({ runs_after: 'reload' });
    await verbs.write(anImage(), () => {});
    refuses.set('reload', 'Error: mlx5_core: reload is unsupported while VFs are present.');
    expect(await verbs.activate(anImage())).toBe('power-cycle');
    expect(await verbs.list(card)).toEqual([{ name: 'fw', version: '1.0' }]);
  });

  it('from which the card does not come back fails', async () => {
    const [verbs, firmware] = await start({ runs_after: 'reload' });
    firmware.refuses.set('reload', 'kernel answers: Connection timed out');
    firmware.hasFailed = true;
    await expect(verbs.activate(anImage())).rejects.toThrow('kernel answers: Connection timed out');
  });
});

describe('what a card shows of its firmware', () => {
  it('is no version that devlink does not show, and the fault names those that it does', async () => {
    const [verbs, firmware] = await start();
    firmware.running = { 'fw.bundle_id': '0x80002ec0' };
    await expect(verbs.list(card)).rejects.toThrow(
      'devlink shows no running version fw.mgmt, but fw.bundle_id',
    );
    firmware.running = { 'fw.mgmt': '9.20 beta ' };
    expect(await verbs.list(card)).toEqual([{ name: 'fw', version: '9.20_beta' }]);
  });

  it('stays while a server has the card as a whole, which then takes no image', async () => {
    host.kernel.addFirmware(card, '1.0');
    host.host.tree.write(`${host.host.tree.pathOf(card)}/sriov_numvfs`, '0\n');
    await host.start(heldWhole);
    const { components } = host.driver;
    expect(await components?.list(card)).toEqual([{ name: 'fw', version: '1.0' }]);
    host.host.tree.removeFunction(card);
    host.host.tree.addFunction({ address: card, ...ids, driver: 'vfio-pci' });
    expect(await components?.list(card)).toEqual([{ name: 'fw', version: '1.0' }]);
    await expect(components?.check(anImage())).rejects.toThrow(
      `The card ${card} is on vfio-pci, and devlink needs its own driver.`,
    );
  });

  it('stays over a restart of the agent, and goes with the card', async () => {
    host.kernel.addFirmware(card, '1.0');
    const { tree } = host.host;
    tree.write(`${tree.pathOf(card)}/sriov_numvfs`, '0\n');
    await host.start(heldWhole);
    const before = [{ name: 'fw', version: '1.0' }];
    expect(await host.driver.components?.list(card)).toEqual(before);
    const replaceBy = (product: string) => {
      tree.removeFunction(card);
      tree.addFunction({ address: card, ...ids, product, driver: 'vfio-pci' });
    };
    replaceBy(ids.product);
    await host.start(heldWhole);
    expect(await host.driver.components?.list(card)).toEqual(before);
    replaceBy('1583');
    expect(await host.driver.components?.list(card)).toEqual([]);
  });

  it('stays while devlink fails', async () => {
    const [verbs, { refuses }] = await start();
    const before = await verbs.list(card);
    refuses.set('info', 'kernel answers: Connection timed out');
    expect(await verbs.list(card)).toEqual(before);
  });

  it('is nothing without settings', async () => {
    host.kernel.addFirmware(card, '1.0');
    await host.start(divided);
    expect(host.driver.components).toBeUndefined();
  });
});
