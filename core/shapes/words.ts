// The closed words of what is stored. Without zod, so that a page of the console may import them.

export const attachTypes = ['PCI', 'MDEV', 'TEST_PCI'] as const;
/** Cyborg's device types. */
export const deviceTypes = ['GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD'] as const;
export const deviceStatuses = ['enabled', 'maintaining'] as const;
export const healthStates = ['healthy', 'degraded', 'unhealthy'] as const;
/** Whether a bind has the host prepare a handle, or the agent has done so before any bind. */
export const preparations = ['at-bind', 'ahead'] as const;
export const programStates = ['started', 'done', 'failed'] as const;

/** What a driver reports below a device; domain/device/region-kinds.ts has the rules of each. */
export const regionKinds = [
  /** A part of an FPGA that can be reconfigured while the rest of the device runs. */
  'reconfigurable-region',
  /** A type of mediated devices, or a pool of them. */
  'mdev-type',
  /** A fixed part of a device, for example a GPU instance. */
  'partition',
] as const;
