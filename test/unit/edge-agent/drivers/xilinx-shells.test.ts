import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { aXilinxHost, card, slot } from '#test/drivers/xilinx-fpga/host.ts';
import { anXclbin, type XclbinGiven } from '#test/drivers/xilinx-fpga/xclbin.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const before = 'xilinx_u250_gen3x16_base_3';
const after = 'xilinx_u250_gen3x16_base_4';
const upper = 'xilinx_u250_gen3x16_xdma_shell_4_1';
const host = perTest(() => aXilinxHost());
/** The kind of its first section is that of MCS files. */
const baseImage = { platform: after, kind: 12 };

type Driver = Awaited<ReturnType<ReturnType<typeof aXilinxHost>['driver']>>;
let driver: Driver;
beforeEach(async () => {
  host.kernel.add(slot);
  driver = await started();
});

async function started(bootId = 'boot-1'): Promise<Driver> {
  const made = await host.driver({}, bootId);
  await made.setUp();
  host.kernel.ran.length = 0;
  return made;
}

function verbsOf({ components }: Driver = driver) {
  if (!components) throw new Error('The driver has no components.');
  return components;
}

function anImage(component: string, version: string, given: XclbinGiven | string = baseImage) {
  const imagePath = join(host.directory, 'abc.image');
  writeFileSync(imagePath, typeof given === 'string' ? given : anXclbin(given));
  return { address: card, component, imagePath, version };
}

const shown = (base: string, shell = upper) => [
  { name: 'base', version: base },
  { name: 'shell', version: shell },
];
const path = () => join(host.directory, 'state', `${card}.xsabin`);

describe('the base of an Alveo card', () => {
  it('is flashed, runs after a cold boot, and is read then', async () => {
    const verbs = verbsOf();
    expect(await verbs.list(card)).toEqual(shown(before));
    const image = anImage('base', after);
    const percents: number[] = [];
    await verbs.check(image);
    await verbs.write(image, (percent) => percents.push(percent));
    expect(host.kernel.ran).toEqual([
      `xbmgmt program --device ${card} --base --image ${path()} --force`,
    ]);
    expect([percents, host.drivers()]).toEqual([
      [0, 100],
      ['vfio-pci', 'vfio-pci'],
    ]);
    expect(readdirSync(join(host.directory, 'state'))).toEqual(['cards.json']);
    expect(await verbs.activate(image)).toBe('power-cycle');
    expect(await verbs.list(card)).toEqual(shown(before));
    host.kernel.reboot();
    expect(await verbsOf(await started('boot-2')).list(card)).toEqual(shown(before));
    host.kernel.reboot(true);
    expect(await verbsOf(await started('boot-3')).list(card)).toEqual(shown(after));
  });

  it.each([
    ['of another platform than its version', after, { ...baseImage, platform: before }, 'not'],
    [
      'of its version in other letters',
      after.toUpperCase(),
      baseImage,
      `not ${after.toUpperCase()}`,
    ],
    ['of its version with other marks', after.replaceAll('_', ':'), baseImage, 'not xilinx:u250'],
    ['for another board', 'xilinx_u200_x_2', { platform: 'xilinx_u200_x_2', kind: 12 }, 'u200'],
    ['without contents for the flash', after, { platform: after, kind: 0 }, 'no contents'],
    ['that is a text', after, 'not an image', 'ends within its header'],
    ['that is empty', after, '', 'ends within its header'],
  ])('takes no image %s', async (_, version, given, sentence) => {
    await expect(verbsOf().check(anImage('base', version, given))).rejects.toThrow(sentence);
  });

  it('takes an image by the version that the card will show', async () => {
    const image = { ...baseImage, platform: 'xilinx:u250:gen3x16:base.4' };
    expect(await verbsOf().check(anImage('base', after, image))).toBe(undefined);
    const refused = verbsOf().check(anImage('base', image.platform, image));
    await expect(refused).rejects.toThrow(`is platform ${after}, not ${image.platform}.`);
  });

  it.each([
    [{ exitCode: 1, stderr: 'ERROR: Failed to update base' }, 'ERROR: Failed to update base'],
    ['\nDevice is up-to-date.  No flashing to performed.\n', 'has not confirmed the flash'],
  ])('that xbmgmt answers with %j fails, and leaves the card on VFIO', async (fault, sentence) => {
    host.kernel.faults.set('xbmgmt program', fault);
    const written = verbsOf().write(anImage('base', after), () => {});
    await expect(written).rejects.toThrow(sentence);
    expect(host.drivers()).toEqual(['vfio-pci', 'vfio-pci']);
  });

  it('is flashed by the next agent after one died while xbmgmt flashed it', async () => {
    const { promise: died, resolve } = Promise.withResolvers<'died'>();
    host.kernel.during = async () => {
      resolve('died');
      await new Promise(() => {});
    };
    const image = anImage('base', after);
    const written = verbsOf().write(image, () => {});
    expect(await Promise.race([written, died])).toBe('died');
    host.kernel.during = async () => {};
    const verbs = verbsOf(await started());
    await verbs.write(image, () => {});
    expect(await verbs.activate(image)).toBe('power-cycle');
    host.kernel.reboot(true);
    expect(await verbsOf(await started('boot-2')).list(card)).toEqual(shown(after));
  });

  it('is read after the next boot also if the agent died while it was flashed', async () => {
    host.kernel.faults.set('xbmgmt program', new Error('killed'));
    await expect(verbsOf().write(anImage('base', after), () => {})).rejects.toThrow('killed');
    host.kernel.faults.clear();
    host.kernel.at(slot).flash = after;
    host.kernel.reboot(true);
    expect(await verbsOf(await started('boot-2')).list(card)).toEqual(shown(after));
  });

  it('is not flashed while a process has the card open', async () => {
    host.host.openVfio(card);
    await expect(verbsOf().write(anImage('base', after), () => {})).rejects.toThrow(
      `The device at ${card}`,
    );
    expect(host.kernel.ran).toEqual([]);
  });
});

describe('the upper part of a shell', () => {
  it('is loaded, runs at once, and is read', async () => {
    const verbs = verbsOf();
    const platform = 'xilinx_u250_gen3x16_xdma_shell_5_0';
    const image = anImage('shell', platform, { platform });
    await verbs.check(image);
    await verbs.write(image, () => {});
    expect(host.kernel.ran[0]).toBe(`xbmgmt program --device ${card} --shell ${path()}`);
    expect(await verbs.activate(image)).toBe('active');
    expect(await verbs.list(card)).toEqual(shown(before, platform));
  });

  it('is loaded again after an agent died before it has read the card', async () => {
    const verbs = verbsOf();
    const platform = 'xilinx_u250_gen3x16_xdma_shell_5_0';
    const image = anImage('shell', platform, { platform, interfaceUuid: 'f'.repeat(32) });
    host.kernel.faults.set('xbmgmt examine', new Error('killed'));
    await expect(verbs.write(image, () => {})).rejects.toThrow('killed');
    host.kernel.faults.clear();
    await verbs.write(image, () => {});
    expect(await verbs.list(card)).toEqual(shown(before, platform));
    const { region } = await driver.discover();
    expect(region?.['region-type-uuid']).toBe('ffffffff-ffff-ffff-ffff-ffffffffffff');
  });

  it.each([
    ['a program', undefined],
    ['an agent that died at it', new Error('killed')],
  ])('is not shown after the boot that forgets it, after %s', async (_, fault) => {
    const platform = 'xilinx_u250_gen3x16_xdma_shell_5_0';
    const image = anImage('shell', platform, { platform, interfaceUuid: 'f'.repeat(32) });
    if (fault) host.kernel.faults.set('xbmgmt examine', fault);
    const written = verbsOf().write(image, () => {});
    if (fault) await expect(written).rejects.toThrow('killed');
    else await written;
    host.kernel.faults.clear();
    host.kernel.reboot();
    const next = await started('boot-2');
    expect(await verbsOf(next).list(card)).toEqual(shown(before, 'none'));
    const { region } = await next.discover();
    expect(region?.['region-type-uuid']).toBe('15fb8da1-f552-a9f9-2343-00db5f6ee9e0');
    await verbsOf(next).write(image, () => {});
    host.kernel.reboot();
    expect(await verbsOf(await started('boot-3')).list(card)).toEqual(shown(before, 'none'));
  });

  it('is none on a card that has loaded none', async () => {
    host.kernel.at(slot).platform = undefined;
    host.kernel.reboot();
    const verbs = verbsOf();
    await verbs.write(anImage('base', after), () => {});
    host.kernel.reboot(true);
    expect(await verbsOf(await started('boot-2')).list(card)).toEqual(shown(after, 'none'));
  });

  it('that xbmgmt does not confirm fails', async () => {
    host.kernel.faults.set('xbmgmt program', 'Programming shell on device...\n');
    const written = verbsOf().write(anImage('shell', upper, { platform: upper }), () => {});
    await expect(written).rejects.toThrow('has not confirmed the shell');
  });

  it('takes no empty image, and no other component', async () => {
    await expect(verbsOf().check(anImage('shell', upper, ''))).rejects.toThrow('is empty');
    await expect(verbsOf().check(anImage('bmc', upper))).rejects.toThrow('no component bmc');
  });
});
