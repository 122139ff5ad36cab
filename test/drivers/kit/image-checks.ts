// What the kit asks of a driver whose devices have regions or components that take images: what
// is no image for one changes nothing.

import { deepStrictEqual as same } from 'node:assert';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Trial } from '#test/drivers/trial.ts';
import { type Check, CheckFailed } from './check.ts';

const files = {
  'an empty file': Buffer.alloc(0),
  'a text': Buffer.from('This is not an image.\n'),
  'random bytes': Buffer.from(Array.from({ length: 8192 }, (_, index) => (index * 167) % 251)),
};

export const imageChecks: readonly Check[] = Object.entries(files).map(([name, content]) => ({
  title: `${name} is refused as an image, and changes nothing`,
  run: (trial) => refuse(trial, content),
}));

async function refuse(trial: Trial, content: Buffer): Promise<void> {
  const { devices } = await trial.discover();
  const device = devices.map((found) => found.device).find(({ regions }) => regions.length > 0);
  const [region] = device?.regions ?? [];
  const { images } = trial.driver;
  if (!device || !region || !images) throw new CheckFailed('It has no region that takes images.');
  const imagePath = join(tmpdir(), `not-an-image-${process.pid}`);
  writeFileSync(imagePath, content);
  const interfaceUuid = region['region-type-uuid'] ?? '';
  const check = await images.check(imagePath, interfaceUuid).catch((error: unknown) => error);
  if (!(check instanceof Error)) throw new CheckFailed('check() takes it.');
  const image = { region: region.name, imageId: interfaceUuid, imagePath };
  for (const address of [device.address, 'ffff:ff:1f.7']) {
    const written = await images
      .write({ ...image, address }, () => {})
      .catch((error: unknown) => error);
    if (!(written instanceof Error)) throw new CheckFailed(`write() at ${address} takes it.`);
  }
  same((await trial.discover()).devices, devices);
}

export const componentChecks: readonly Check[] = [
  {
    title: 'an empty image, another component and another device are refused for a component',
    run: refuseForComponents,
  },
];

async function refuseForComponents(trial: Trial): Promise<void> {
  const { devices } = await trial.discover();
  const { components: verbs } = trial.driver;
  const [found] = devices.filter(({ device }) => device.components);
  const [component] = found?.device.components ?? [];
  if (!found || !component || !verbs) throw new CheckFailed('It has no component.');
  const { address } = found.device;
  const imagePath = join(tmpdir(), `no-firmware-${process.pid}`);
  const image = { address, component: component.name, imagePath, version: 'other' };
  writeFileSync(imagePath, '');
  if (!(await isRefused(verbs.check(image)))) throw new CheckFailed('check() takes no bytes.');
  writeFileSync(imagePath, 'text');
  for (const given of [{ component: 'no-such' }, { address: 'ffff:ff:1f.7' }]) {
    const other = { ...image, ...given };
    const acts = [
      () => verbs.check(other),
      () => verbs.write(other, () => {}),
      () => verbs.activate(other),
    ];
    for (const act of acts) {
      if (!(await isRefused(act()))) throw new CheckFailed(`${JSON.stringify(given)} is taken.`);
    }
  }
  same(await verbs.list('ffff:ff:1f.7'), []);
  same((await trial.discover()).devices, devices);
}

async function isRefused(act: Promise<unknown>): Promise<boolean> {
  const end = await act.catch((error: unknown) => error);
  return end instanceof Error;
}
