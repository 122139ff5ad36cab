// What a host tells of a device beyond what is sold of it.

export const healthStates = ['healthy', 'degraded', 'unhealthy'] as const;

/** As the host's driver sees it. An unhealthy device is reserved in Placement, and not bound. */
export interface DeviceHealth {
  readonly state: (typeof healthStates)[number];
  /** A clause that completes "The device at <address> ...". */
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
  /** Of a device that is not offered yet although its driver finds no fault any more. */
  readonly healthySince?: string;
}

export interface DeviceFacts {
  /** A serial number or the like: it stays with the card in another slot. */
  readonly identity?: string;
  readonly numaNode?: number;
  /** PCI address of the root port above the device. */
  readonly pcieRoot?: string;
  readonly firmware?: string;
  readonly health?: DeviceHealth;
  /** Of the vendor, by name; the attributes API shows them. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The facts without those that are absent. */
export function factsOf(facts: DeviceFacts): DeviceFacts {
  const { identity, numaNode, pcieRoot, firmware, health, attributes } = facts;
  return {
    ...(identity && { identity }),
    ...(numaNode !== undefined && { numaNode }),
    ...(pcieRoot && { pcieRoot }),
    ...(firmware && { firmware }),
    ...(health && { health }),
    ...(attributes && { attributes }),
  };
}

/** The facts that operators read as attributes, by key. The identity is not for tenants. */
export function factAttributes(
  { numaNode, pcieRoot, firmware, health, attributes }: DeviceFacts,
  pool: string | undefined,
): Record<string, string> {
  return {
    ...attributes,
    ...(pool && { pool }),
    ...(numaNode !== undefined && { numa_node: String(numaNode) }),
    ...(pcieRoot && { pcie_root: pcieRoot }),
    ...(firmware && { firmware }),
    ...(health && { health: health.state }),
  };
}

export function isUnhealthy({ health }: DeviceFacts): boolean {
  return health?.state === 'unhealthy';
}
