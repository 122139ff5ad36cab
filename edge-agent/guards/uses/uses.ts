// What may hold a device, each with its sentence. A sentence completes "The device at <address>".

export type Use =
  | { readonly kind: 'mount'; readonly block: string; readonly at: string }
  | { readonly kind: 'file-system'; readonly block: string; readonly name: string }
  | { readonly kind: 'swap'; readonly block: string }
  | { readonly kind: 'member'; readonly block: string; readonly holder: string }
  | { readonly kind: 'claimed'; readonly block: string }
  | { readonly kind: 'export'; readonly block: string; readonly by: string }
  | { readonly kind: 'pool'; readonly pool: string; readonly block: string }
  | { readonly kind: 'default-route'; readonly network: string }
  | { readonly kind: 'below'; readonly network: string; readonly holder: string }
  | { readonly kind: 'address'; readonly network: string }
  | { readonly kind: 'other-namespace' }
  | { readonly kind: 'screen'; readonly framebuffer: string }
  | { readonly kind: 'boot-display' }
  | { readonly kind: 'management-display' }
  | { readonly kind: 'mdev'; readonly uuid: string }
  | { readonly kind: 'vgpu-type'; readonly type: string }
  | { readonly kind: 'behind'; readonly controller: string }
  | { readonly kind: 'open'; readonly node: string; readonly by: string }
  | { readonly kind: 'domain'; readonly name: string };

/** Adds a use of a device. */
export type Note = (address: string, use: Use) => void;

export function describeUse(use: Use): string {
  switch (use.kind) {
    case 'mount':
      return `has a mounted file system: ${shown(use.block)} at ${shown(use.at)}`;
    case 'file-system':
      return `has a mounted file system: ${shown(use.block)} is part of ${shown(use.name)}`;
    case 'swap':
      return `has swap space of the host: ${shown(use.block)}`;
    case 'member':
      return `is part of a volume: ${shown(use.holder)} holds ${shown(use.block)}`;
    case 'claimed':
      return (
        `is in use by the kernel: ${shown(use.block)}, or a partition of it, cannot be opened ` +
        'exclusively (a file system, a volume, or a pool of ZFS)'
      );
    case 'export':
      return `is exported by the host: ${shown(use.by)} uses ${shown(use.block)}`;
    case 'pool':
      return (
        `may be part of a pool of ZFS: ${shown(use.pool)} is imported, and the agent cannot see ` +
        `what ${shown(use.block)} is for`
      );
    case 'default-route':
      return `carries the host's default route: ${shown(use.network)}`;
    case 'below':
      return `carries another network interface: ${shown(use.holder)} uses ${shown(use.network)}`;
    case 'address':
      return `has an address of the host: ${shown(use.network)}`;
    case 'other-namespace':
      return 'has its network interface in another network namespace';
    case 'screen':
      return `drives a screen of the host: ${shown(use.framebuffer)}`;
    case 'boot-display':
      return 'is the display that the host has booted with: its boot_vga is 1';
    case 'management-display':
      return "is the display of the host's management controller";
    case 'mdev':
      return `has a mediated device: ${shown(use.uuid)}`;
    case 'vgpu-type':
      return `has a vGPU type set: ${shown(use.type)}`;
    case 'behind':
      return `is behind Intel VMD at ${shown(use.controller)}, whose address on the bus it has`;
    case 'open':
      return `is open: ${shown(use.by)} uses ${shown(use.node)}`;
    case 'domain':
      return `belongs to a server: the domain ${shown(use.name)} of libvirt has it`;
  }
}

/** Names come from disks, processes, files and their content: printable, and short. */
export function shown(name: string): string {
  const printable = name.replaceAll(/[^\x20-\x7e]/g, '?');
  return printable.length > 80 ? `${printable.slice(0, 80)}...` : printable;
}
