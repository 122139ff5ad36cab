// What the kit asks of a driver whose devices have regions that take images: what is no image for
// the region changes nothing.

import { deepStrictEqual as same } from 'node:assert';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Check, CheckFailed } from './check.ts';
import type { Trial } from './trial.ts';

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
