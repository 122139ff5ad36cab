// PCI addresses, `DDDD:BB:DD.F`: parsed tolerantly, written in one form.

/** The four parts in lower-case hexadecimal, as Cyborg's `attach_handle_info` spells them. */
export interface PciAddress {
  readonly domain: string;
  readonly bus: string;
  readonly device: string;
  readonly function: string;
}

// Domains have more than four digits behind Intel VMD and on Hyper-V.
const pattern = /^([0-9a-f]{4,8}):([0-9a-f]{2}):([01][0-9a-f])\.([0-7])$/;

/** Takes upper case and NVIDIA's eight-digit domains as well. */
export function parsePciAddress(text: string): PciAddress | undefined {
  const [, domain, bus, device, fn] = pattern.exec(text.toLowerCase()) ?? [];
  if (!domain || !bus || !device || !fn) return undefined;
  const shortest = domain.length > 4 ? domain.replace(/^0+(?=.{4})/, '') : domain;
  return { domain: shortest, bus, device, function: fn };
}

export function printPciAddress(address: PciAddress): string {
  return `${address.domain}:${address.bus}:${address.device}.${address.function}`;
}
