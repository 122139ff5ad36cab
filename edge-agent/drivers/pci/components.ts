// Components of a card that the kernel's class `firmware` programs, as the operator's settings
// name them: the node that takes the image, and the file that shows what the component runs.

import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { Clock } from '#agent/clock.ts';
import type { ComponentPlace, Components } from '#agent/drivers/contract/driver.ts';
import { uploadFirmware } from '#agent/hardware/firmware-upload.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { componentName } from '#core/shapes/device.ts';

const nameIs = 'must have lower case letters, digits, "_" and "-", such as "bmc"';
const nodeIs = 'must be the name of a node in /sys/class/firmware, such as "secure-update*"';
const pathIs =
  'must be a path below the folder of the PCI function, or one that begins with /sys/; "*" is any name';

/** The name of a component in settings. */
export const componentLabel = z
  .string(nameIs)
  .refine((name) => componentName.safeParse(name).success, nameIs);

export const cardComponent = z.strictObject({
  name: componentLabel,
  /** With `*`: the node of that name below the card's PCI function. */
  upload: z.string(nodeIs).regex(/^[a-zA-Z0-9_.:*-]{1,64}$/, nodeIs),
  /** The file whose first line is the version that the component runs. */
  version: z
    .string(pathIs)
    .regex(/^[a-zA-Z0-9_.:*/+-]{1,255}$/, pathIs)
    .refine((path) => !path.split('/').includes('..'), pathIs),
  /** When the component runs what was written. */
  runs_after: z
    .enum(['write', 'power-cycle'], 'must be write or power-cycle')
    .default('power-cycle'),
});
export type CardComponent = z.infer<typeof cardComponent>;

export function componentList<Form extends z.ZodType<{ readonly name: string }>>(form: Form) {
  return z
    .array(form, 'must list components')
    .max(16)
    .refine(
      (all) => new Set(all.map(({ name }) => name)).size === all.length,
      'must not name a component twice',
    );
}
export const cardComponents = componentList(cardComponent);

interface ComponentsDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly clock: Clock;
  readonly componentsOf: (fn: PciFunction) => readonly CardComponent[];
  /** Rejects while a guest or the host uses the card. */
  readonly checkFree: (fn: PciFunction) => Promise<void>;
}

export function cardComponentVerbs(deps: ComponentsDeps): Components {
  const { sysfs, hardware, clock, componentsOf } = deps;
  const find = ({ address, component }: ComponentPlace) => {
    const fn = readPciFunctionAt(sysfs, address);
    const setting = fn && componentsOf(fn).find(({ name }) => name === component);
    if (!setting) throw new Error(`The device at ${address} has no component ${component}.`);
    return { fn, setting, node: findNode(sysfs, fn, setting) };
  };
  return {
    list: async (address) => {
      const fn = readPciFunctionAt(sysfs, address);
      if (!fn) return [];
      const listed = [];
      for (const { name, version } of componentsOf(fn)) {
        const path = findFile(sysfs, fn, version);
        if (path === undefined) throw new Error(`${name} shows no version at ${version}`);
        const [line = ''] = (await hardware.readText(address, path)).split('\n');
        listed.push({ name, version: line.trim() });
      }
      return listed;
    },
    check: async (image) => {
      find(image);
      if ((await stat(image.imagePath)).size === 0) throw new ImageRefused('The image is empty.');
    },
    write: async (image, onProgress) => {
      const { fn, node } = find(image);
      await deps.checkFree(fn);
      const { imagePath } = image;
      const { size } = await stat(imagePath);
      const upload = { device: image.address, node, imagePath, bytes: size };
      await uploadFirmware({ sysfs, hardware, clock }, upload, onProgress);
    },
    activate: async (place) =>
      find(place).setting.runs_after === 'write' ? 'active' : 'power-cycle',
  };
}

const nodes = 'class/firmware';

function findNode(sysfs: Sysfs, { path }: PciFunction, { upload }: CardComponent): string {
  const named = (sysfs.list(nodes) ?? []).filter((name) => isLike(upload, name));
  const card = upload.includes('*') ? `${sysfs.resolve(path)}/` : '/';
  const [only, ...others] = named.filter((name) =>
    sysfs.resolve(`${nodes}/${name}`).startsWith(card),
  );
  if (only === undefined) throw new Error(`The card has no node ${upload} in /sys/${nodes}.`);
  if (others.length > 0) throw new Error(`The card has several nodes ${upload} in /sys/${nodes}.`);
  return `${nodes}/${only}`;
}

/** The one file that the path names; undefined if there is none. */
function findFile(sysfs: Sysfs, fn: PciFunction, pattern: string): string | undefined {
  const isWhole = pattern.startsWith('/sys/');
  const parts = (isWhole ? pattern.slice('/sys/'.length) : pattern)
    .split('/')
    .filter((part) => part);
  let path: string | undefined = isWhole ? '' : fn.path;
  for (const part of parts) {
    if (path === undefined) return undefined;
    const folder: string = path;
    const name: string | undefined = part.includes('*')
      ? (sysfs.list(folder) ?? []).find((each) => isLike(part, each))
      : part;
    path = name && (folder === '' ? name : `${folder}/${name}`);
  }
  return path;
}

function isLike(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(name);
}
