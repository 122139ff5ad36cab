// A driver as a module: its name, the form of its settings, and how it starts. The agent's own
// drivers and those of an operator have the same form.

import type * as z from 'zod';
import type { Clock } from '#agent/clock.ts';
import type { Guards } from '#agent/guards/guards.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { Log } from '#agent/log.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { DescribedDevice, Driver, HandleWork } from './driver.ts';
import { readForm } from './setting-faults.ts';

/** What the agent gives to a driver. */
export interface DriverContext {
  /** What the kernel answers from its own memory. */
  readonly sysfs: Sysfs;
  /** Whatever may block in the kernel or in a device, and vendors' tools. */
  readonly hardware: Hardware;
  readonly guards: Guards;
  /** The driver's own folder, which survives a restart and a boot; openStateFiles() makes it. */
  readonly directory: string;
  /** Names this host in the control plane, and is the same after each boot. */
  readonly thing: string;
  readonly bootId: string;
  /** Whether the agent has prepared the object under the uuid of a handle in this boot. */
  readonly isPrepared: (uuid: string) => boolean;
  /** The handles of this driver that the agent has prepared in this boot, or is about to. */
  readonly prepared: () => readonly HandleWork[];
  readonly clock: Clock;
  readonly log: Log;
}

export interface DriverDefinition<Settings> {
  /** Lower case letters, digits and `_`; the key of its settings. */
  readonly name: string;
  /** Absent if the driver has no settings. */
  readonly settings?: z.ZodType<Settings>;
  readonly create: (settings: Settings, context: DriverContext) => Driver<DescribedDevice>;
}

/** A driver whose settings were found valid. */
export interface ConfiguredDriver {
  readonly name: string;
  readonly create: (context: DriverContext) => Driver;
}

export interface SettingFault {
  /** Below the driver's name. */
  readonly path: readonly string[];
  readonly message: string;
}

export interface DriverModule {
  readonly name: string;
  /** @param input what stands under the driver's name; undefined if nothing does */
  configure(input: unknown): ConfiguredDriver | { readonly faults: readonly SettingFault[] };
}

export function defineDriver<Settings = undefined>({
  name,
  settings,
  create: createDescribing,
}: DriverDefinition<Settings>): DriverModule {
  // Each description is checked, and gets its `regions`, before it is used: see readDiscovery().
  const create = (...args: Parameters<typeof createDescribing>) =>
    createDescribing(...args) as Driver;
  return {
    name,
    configure: (input) => {
      if (!settings) {
        if (input !== undefined) return { faults: [{ path: [], message: 'has no settings' }] };
        return { name, create: (context) => create(undefined as Settings, context) };
      }
      // Without settings the form says what is missing.
      const read = readForm(settings, input ?? {});
      if ('faults' in read) return read;
      return { name, create: (context) => create(read.value, context) };
    },
  };
}
