// Flavors as `openstack flavor list --long --all -f json` prints them, and what they ask of Nova's
// PCI devices and vGPUs. Pure.

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

/** The file has no flavors; the message completes the name of the file. */
export class FlavorsRefused extends Error {
  override readonly name = 'FlavorsRefused';
}

const count = z.coerce.number().int().min(0);

/** Older clients print properties as one text: `a='1', b='2'`. */
const properties = z
  .union([
    z.record(z.string(), z.coerce.string()),
    z
      .string()
      .transform((text) =>
        Object.fromEntries(
          [...text.matchAll(/([^\s,=]+)='([^']*)'/g)].map(([, key = '', value = '']) => [
            key,
            value,
          ]),
        ),
      ),
  ])
  .nullish()
  .transform((parsed) => parsed ?? {});

const flavor = z
  .looseObject({
    ID: z.coerce.string(),
    Name: z.string().min(1),
    RAM: count,
    Disk: count,
    VCPUs: count,
    Ephemeral: count.default(0),
    Swap: z.union([z.literal('').transform(() => 0), count]).default(0),
    'Is Public': z.boolean().default(true),
    'RXTX Factor': z.coerce.number().default(1),
    Properties: properties,
  })
  .transform((flavor) => ({
    id: flavor.ID,
    name: flavor.Name,
    ram: flavor.RAM,
    disk: flavor.Disk,
    vcpus: flavor.VCPUs,
    ephemeral: flavor.Ephemeral,
    swap: flavor.Swap,
    isPublic: flavor['Is Public'],
    rxtxFactor: flavor['RXTX Factor'],
    properties: flavor.Properties as Readonly<Record<string, string>>,
  }));

export type Flavor = z.infer<typeof flavor>;

/** @throws FlavorsRefused */
export function readFlavors(text: string): readonly Flavor[] {
  const form = 'it must be what "openstack flavor list --long --all -f json" prints';
  const json = parseJson(text);
  if (json === undefined) throw new FlavorsRefused(`is not valid JSON: ${form}.`);
  const read = z.array(flavor).safeParse(json);
  if (read.success) return read.data;
  const [first] = read.error.issues;
  const place = first?.path.join('.') ?? '';
  throw new FlavorsRefused(`is not a list of flavors${place && ` (at ${place})`}: ${form}.`);
}

/** Commands that make a copy of the flavor with other properties. Its users are as before. */
export function copyCommand(
  flavor: Flavor,
  name: string,
  changed: Readonly<Record<string, string>>,
) {
  const words = [
    'openstack flavor create',
    `--vcpus ${flavor.vcpus}`,
    `--ram ${flavor.ram}`,
    `--disk ${flavor.disk}`,
    ...(flavor.ephemeral > 0 ? [`--ephemeral ${flavor.ephemeral}`] : []),
    ...(flavor.swap > 0 ? [`--swap ${flavor.swap}`] : []),
    ...(flavor.rxtxFactor === 1 ? [] : [`--rxtx-factor ${flavor.rxtxFactor}`]),
    ...(flavor.isPublic ? [] : ['--private']),
    ...Object.entries(changed).map(([key, value]) => `--property ${quoted(`${key}=${value}`)}`),
    quoted(name),
  ];
  return words.join(' ');
}

/** One word of a shell. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_.:=,@/-]+$/.test(word) && !word.startsWith('-')
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}
