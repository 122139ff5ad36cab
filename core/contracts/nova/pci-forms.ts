// The JSON of `[pci] device_spec` and `[pci] alias` in the forms that Nova takes, with its
// spelling of classes and traits. A value in no such form is refused by a sentence. Pure.

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { isTrue } from './nova-conf.ts';

/** An entry of `device_spec`. */
export interface DeviceSpec {
  /** `spec-2`: the second value; `spec-2.1`: the first entry of its list. */
  readonly name: string;
  readonly vendor: string | undefined;
  readonly product: string | undefined;
  /** Each part is hexadecimal digits or `*`; absent where all addresses match. */
  readonly address: Address | undefined;
  /** Regular expressions for parts of the address, in place of it. */
  readonly addressPattern?: Readonly<Record<string, string>>;
  /** A network interface of the device, in place of the address. */
  readonly devname?: string;
  readonly resourceClass: string | undefined;
  readonly traits: readonly string[];
  readonly isMigratable: boolean;
  /** Why it stays with Nova. */
  readonly stays: string | undefined;
}

export type Address = readonly [domain: string, bus: string, slot: string, fn: string];

/** One value of `alias`; values of one name are alternatives. */
export interface AliasSpec {
  readonly name: string;
  readonly vendor: string | undefined;
  readonly product: string | undefined;
  readonly deviceType: 'type-PCI' | 'type-PF' | 'type-VF' | undefined;
  readonly numaPolicy: string;
  readonly resourceClass: string | undefined;
  readonly traits: readonly string[];
  readonly isMigratable: boolean;
}

export interface Fault {
  readonly name: string;
  readonly fault: string;
}

const text = z.string('must be text');
/** Nova also takes JSON's true and false. */
const flag = z.union([z.string(), z.boolean()], 'must be "yes" or "no"').transform(String);
const id = text
  .trim()
  .toLowerCase()
  .regex(/^[0-9a-f]{1,4}$/, 'must be hexadecimal digits');
const idOrAny = text
  .trim()
  .toLowerCase()
  .regex(/^([0-9a-f]{1,4}|\*)$/, 'must be hexadecimal digits or "*"');

const deviceSpec = z.strictObject({
  vendor_id: idOrAny.optional(),
  product_id: idOrAny.optional(),
  address: z.union([z.string(), z.record(z.string(), z.string())]).optional(),
  devname: text.optional(),
  physical_network: text.nullable().optional(),
  trusted: flag.optional(),
  remote_managed: flag.optional(),
  managed: flag.optional(),
  live_migratable: flag.optional(),
  one_time_use: flag.optional(),
  resource_class: text.optional(),
  traits: text.optional(),
});

const alias = z.strictObject({
  name: text.trim().min(1, 'must not be empty').max(256),
  capability_type: z.literal('pci').optional(),
  vendor_id: id.optional(),
  product_id: id.optional(),
  device_type: z
    .enum(['type-PCI', 'type-PF', 'type-VF'], 'must be type-PCI, type-PF or type-VF')
    .optional(),
  numa_policy: z
    .enum(['legacy', 'preferred', 'required', 'socket'], 'must be a NUMA policy of Nova')
    .default('legacy'),
  resource_class: text.optional(),
  traits: text.optional(),
  live_migratable: flag.optional(),
});

export function readDeviceSpecs(values: readonly string[]): (DeviceSpec | Fault)[] {
  return values.flatMap((value, index): (DeviceSpec | Fault)[] => {
    const name = `spec-${index + 1}`;
    const json = parseJson(value);
    if (json === undefined) return [{ name, fault: `not valid JSON: ${shortened(value)}` }];
    if (!Array.isArray(json)) return [readDeviceSpec(name, json)];
    return json.map((each, at) => readDeviceSpec(`${name}.${at + 1}`, each));
  });
}

function readDeviceSpec(name: string, json: unknown): DeviceSpec | Fault {
  const read = deviceSpec.safeParse(json);
  if (!read.success)
    return { name, fault: describeFault(read.error, Object.keys(deviceSpec.shape)) };
  const spec = read.data;
  if (spec.address !== undefined && spec.devname !== undefined) {
    return { name, fault: 'address and devname exclude each other' };
  }
  const address = typeof spec.address === 'string' ? parseAddress(spec.address) : undefined;
  if (address === 'invalid') {
    return { name, fault: `invalid address ${shortened(String(spec.address))}` };
  }
  return {
    name,
    vendor: specific(spec.vendor_id),
    product: specific(spec.product_id),
    address: address?.some((part) => part !== '*') ? address : undefined,
    ...(typeof spec.address === 'object' && { addressPattern: spec.address }),
    ...present({ devname: spec.devname }),
    resourceClass: spec.resource_class && normalClass(spec.resource_class),
    traits: parseTraits(spec.traits),
    isMigratable: isTrue(spec.live_migratable),
    stays: reasonToStay(spec),
  };
}

function reasonToStay(spec: z.infer<typeof deviceSpec>): string | undefined {
  if (spec.physical_network !== undefined) return 'Neutron has its ports: physical_network';
  if (isTrue(spec.remote_managed)) return 'Neutron has its ports: remote_managed';
  if (spec.trusted !== undefined) return 'Neutron has its ports: trusted';
  if (spec.managed !== undefined && !isTrue(spec.managed)) {
    return 'managed=no: Nova has libvirt manage the PCI devices of accelerator requests';
  }
  if (isTrue(spec.one_time_use)) {
    return 'one_time_use: the agent offers a device again after its release';
  }
  if (spec.devname !== undefined) return 'devname: the agent needs the address instead';
  if (typeof spec.address === 'object') {
    return 'the address is a regular expression: the agent needs addresses, with "*" for parts';
  }
  return undefined;
}

export function readAliases(values: readonly string[]): (AliasSpec | Fault)[] {
  return values.map((value, index) => {
    const json = parseJson(value);
    const named = z.looseObject({ name: z.string() }).safeParse(json);
    const name = named.success ? named.data.name.trim() : `alias-${index + 1}`;
    if (json === undefined) return { name, fault: `not valid JSON: ${shortened(value)}` };
    const read = alias.safeParse(json);
    if (!read.success) return { name, fault: describeFault(read.error, Object.keys(alias.shape)) };
    const spec = read.data;
    if (!(spec.vendor_id && spec.product_id) && !spec.resource_class) {
      return { name, fault: 'must have vendor_id and product_id, or resource_class' };
    }
    return {
      name,
      vendor: spec.vendor_id?.padStart(4, '0'),
      product: spec.product_id?.padStart(4, '0'),
      deviceType: spec.device_type,
      numaPolicy: spec.numa_policy,
      resourceClass: spec.resource_class && normalClass(spec.resource_class),
      traits: parseTraits(spec.traits),
      isMigratable: isTrue(spec.live_migratable),
    };
  });
}

function specific(text: string | undefined): string | undefined {
  return text === undefined || text === '*' ? undefined : text.padStart(4, '0');
}

/** Nova's form `[[[[<domain>]:]<bus>]:][<slot>][.[<function>]]`: a missing part is any. */
function parseAddress(text: string): Address | 'invalid' {
  const [left = '', fn = '', ...more] = text.split('.');
  const parts = left.split(':');
  if (parts.length > 3 || more.length > 0) return 'invalid';
  const [slot = '', bus = '', domain = ''] = parts.toReversed();
  const read = [domain, bus, slot, fn].map((part, index) => {
    const digits = part.trim();
    if (digits === '' || digits === '*') return '*';
    const most = [0xffff, 0xff, 0x1f, 0x7][index] ?? 0;
    const value = /^[0-9a-fA-F]{1,8}$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
    return value > most ? undefined : value.toString(16).padStart([4, 2, 2, 1][index] ?? 0, '0');
  });
  return read.includes(undefined) ? 'invalid' : (read as unknown as Address);
}

const standardClasses = ['FPGA', 'PGPU', 'VGPU', 'PCI_DEVICE', 'SRIOV_NET_VF'];

/** Upper case, `_` for other letters, and `CUSTOM_` unless it is one of Placement's own. */
function normalClass(text: string): string {
  const name = text.toUpperCase();
  return standardClasses.includes(name) ? name : customName(name);
}

function parseTraits(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((each) => each.trim().toUpperCase())
    .filter((each) => each !== '')
    .map((each) =>
      /^(HW|COMPUTE|MISC|STORAGE|OWNER)_[A-Z0-9_]+$/.test(each) ? each : customName(each),
    );
}

function customName(name: string): string {
  const letters = name.replaceAll(/[^A-Z0-9_]+/g, '_');
  return letters.startsWith('CUSTOM_') ? letters : `CUSTOM_${letters}`;
}

function describeFault({ issues: [first] }: z.ZodError, allowed: readonly string[]): string {
  if (first?.code === 'unrecognized_keys') {
    return `unknown key ${first.keys.join(', ')}: allowed are ${allowed.join(', ')}`;
  }
  const place = first?.path.join('.');
  return place ? `${place} ${first?.message}` : 'must be a JSON object';
}

function shortened(value: string): string {
  return value.length > 60 ? `${value.slice(0, 60)}...` : value;
}
