// The closed words of what is stored. Without zod, so that a page of the console may import them.

export const attachTypes = ['PCI', 'MDEV', 'TEST_PCI'] as const;
/**
 * Types of devices that have a name: Cyborg's, a high precision time synchronisation card and a
 * co-processor. A driver may report another one of the form of `deviceType`.
 */
export const deviceTypes = [
  'GPU',
  'FPGA',
  'AICHIP',
  'QAT',
  'NIC',
  'SSD',
  'HPTS',
  'COPROCESSOR',
] as const;
export const deviceStatuses = ['enabled', 'maintaining'] as const;
/** The same in `/operator/v1`, the console and `cyborg-ops`; `maintaining` is Cyborg's word. */
export const operatorStatuses = ['enabled', 'disabled'] as const;
export const healthStates = ['healthy', 'degraded', 'unhealthy'] as const;
/** Whether a bind has the host prepare a handle, or the agent has done so before any bind. */
export const preparations = ['at-bind', 'ahead'] as const;
export const programStates = [
  /** The device is disabled, and the program waits until its handles are free. */
  'draining',
  'started',
  /** Written; the component runs it after the next power cycle. */
  'awaiting-power-cycle',
  'done',
  'failed',
] as const;

/** What a driver reports below a device; domain/device/region-kinds.ts has the rules of each. */
export const regionKinds = [
  /** A part of an FPGA that can be reconfigured while the rest of the device runs. */
  'reconfigurable-region',
  /** A type of mediated devices, or a pool of them. */
  'mdev-type',
  /** A fixed part of a device, for example a GPU instance. */
  'partition',
] as const;

/** The states of an ARQ. Cyborg's common/constants.py, and `provisioning` of the vGPU spec. */
export const arqStates = [
  'Initial',
  'BindStarted',
  'Bound',
  'BindFailed',
  'Unbound',
  'provisioning',
] as const;
export const bindingStates = ['BindStarted', 'Bound', 'BindFailed', 'provisioning'] as const;

/** Why binds fail, as metrics count it; `failure` has the details. */
export const bindFailureCauses = [
  /** The host did not answer in time. */
  'deadline',
  /** The host's job failed. */
  'host',
  /** The host rebooted during the bind, too late for the bind to start again. */
  'boot',
  /** The host has never reported. */
  'agent',
  /** The host no longer has the device, or its report lacks a needed field. */
  'device',
  /** The device was not cleaned up after its previous holder. */
  'quarantine',
  /** The image does not exist or cannot be used. */
  'image',
  /** The work does not fit into one job. */
  'size',
] as const;

/** How the devices of running servers may differ from what is bound. */
export const attachmentFaults = [
  'gone',
  'not-attached',
  'not-bound',
  'attached-elsewhere',
] as const;
