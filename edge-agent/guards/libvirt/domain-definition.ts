// Reads libvirt's definition of a domain: its name, and the PCI functions and mdevs of the host
// that it has. That of a running domain is within the element `domstatus`, beside what else
// libvirt keeps of it. https://libvirt.org/formatdomain.html, host device assignment

import { type PciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { tokenize, XmlInvalid } from './xml.ts';

export interface DomainDefinition {
  readonly name: string;
  /** Nova's uuid of the server; empty in a definition that has none. */
  readonly uuid: string;
  /** It has the metadata that Nova writes into each definition. */
  readonly isOfNova: boolean;
  /** Addresses of PCI functions. */
  readonly functions: readonly string[];
  /** Uuids of mediated devices. */
  readonly mdevs: readonly string[];
  /** Only of a running domain: libvirt's word for its state. */
  readonly state?: string;
}

type Attributes = ReadonlyMap<string, string>;

/**
 * Host devices (`hostdev`), network cards that are one, NVMe devices as disks: each names its
 * function by the element `address` of its `source`. The address beside `source` is the guest's.
 *
 * @throws XmlInvalid also for a host device whose address is unknown
 */
export function readDomain(text: string): DomainDefinition {
  const path: string[] = [];
  const functions = new Set<string>();
  const mdevs = new Set<string>();
  const texts = { name: '', uuid: '' };
  let isOfNova = false;
  let state: string | undefined;
  /** The host device that is being read has no address yet. */
  let lacksAddress = false;
  for (const token of tokenize(text)) {
    if (token.kind === 'text') {
      const [root, field] = path;
      const isField = path.length === 2 && root === 'domain';
      if (isField && (field === 'name' || field === 'uuid')) texts[field] += token.text;
      continue;
    }
    if (token.kind === 'close') {
      if (isDevice(path) && lacksAddress) throw new XmlInvalid('has a hostdev without an address');
      path.pop();
      continue;
    }
    if (path.length === 0 && token.name === 'domstatus' && state === undefined) {
      state = token.attributes.get('state') ?? '';
      continue;
    }
    path.push(token.name);
    if (path[0] !== 'domain') {
      if (state === undefined) throw new XmlInvalid('is not of a domain');
      continue;
    }
    if (path.length === 3 && path.join('/') === 'domain/metadata/nova:instance') isOfNova = true;
    if (isDevice(path)) lacksAddress = isHostPci(token.name, token.attributes);
    if (path[1] !== 'devices' || path.at(-1) !== 'address' || path.at(-2) !== 'source') continue;
    const mdev = token.attributes.get('uuid');
    if (mdev !== undefined && path[2] === 'hostdev') mdevs.add(mdev.toLowerCase());
    if (!isPci(token.attributes)) continue;
    functions.add(readAddress(token.attributes));
    lacksAddress = false;
  }
  const name = texts.name.trim();
  if (name === '') throw new XmlInvalid('has no name');
  return {
    name,
    uuid: texts.uuid.trim().toLowerCase(),
    isOfNova,
    functions: [...functions],
    mdevs: [...mdevs],
    ...(state !== undefined && { state }),
  };
}

function isDevice(path: readonly string[]): boolean {
  return path.length === 3 && path[0] === 'domain' && path[1] === 'devices';
}

function isHostPci(element: string, attributes: Attributes): boolean {
  return element === 'hostdev' && attributes.get('type') === 'pci';
}

/** Addresses of USB and SCSI devices have neither. */
function isPci(attributes: Attributes): boolean {
  const type = attributes.get('type');
  if (type !== undefined) return type === 'pci';
  return attributes.has('slot') || attributes.has('function');
}

function readAddress(attributes: Attributes): string {
  const number = (key: string, max: number, digits: number) =>
    toHex(attributes.get(key), max).padStart(digits, '0');
  const parts: PciAddress = {
    domain: attributes.has('domain') ? number('domain', 0xffffffff, 4) : '0000',
    bus: number('bus', 0xff, 2),
    device: number('slot', 0x1f, 2),
    function: number('function', 7, 1),
  };
  return printPciAddress(parts);
}

/** libvirt writes hexadecimal numbers. A leading zero would be octal to it. */
function toHex(text: string | undefined, max: number): string {
  const isNumber = /^(0x[0-9a-fA-F]{1,8}|0|[1-9]\d{0,9})$/.test(text ?? '');
  const value = isNumber ? Number(text) : Number.NaN;
  if (!(value <= max)) throw new XmlInvalid('has a PCI address that is not valid');
  return value.toString(16);
}
