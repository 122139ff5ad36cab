// Devices that do not answer on the bus.

import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';

interface DeadDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Pick<Hardware, 'readStarts'>;
}

/**
 * sysfs attributes are cached by the kernel; only configuration space
 * is read from the device, and is all ones once the device fell off the bus.
 *
 * Not asked of virtual functions, whose vendor always reads as all ones (SR-IOV, 9.3.4.1).
 */
export async function readDead({ sysfs, hardware }: DeadDeps, functions: readonly PciFunction[]) {
  const dead = new Map<string, string>();
  const files = functions.flatMap(({ address, path }) =>
    // Reading would wake a suspended device at each discovery.
    readIfReadable(sysfs, `${path}/power_state`) === 'D3cold'
      ? []
      : [{ device: address, path: `${path}/config` }],
  );
  for (const [index, read] of (await hardware.readStarts(files)).entries()) {
    const reason = deadReason(read);
    const device = files[index]?.device;
    if (reason && device) dead.set(device, reason);
  }
  return dead;
}

function deadReason(read: Buffer | HardwareError): string | undefined {
  if (read instanceof HardwareError) {
    // Another operation, such as a reset, uses the device, or it hangs: then it is unhealthy, and
    // stays in the report. The next discovery asks again.
    const isThere = read.code === 'EBUSY' || read.code === 'ETIMEDOUT';
    return isThere ? undefined : `cannot be read (${read.code})`;
  }
  const isAlive = read.length === 4 && read.readUInt16LE(0) !== 0xffff;
  return isAlive ? undefined : 'fell off the bus';
}
