import type { Deps } from '#core/deps.ts';
import { type ImportedDevice, importer } from '#core/domain/arq/imports.ts';
import type { Device } from '#core/domain/device/device.ts';
import { timeNow } from '../time-now.ts';
import { type Imported, ImportRefused } from './import-refused.ts';

/** Longer than the writes of one device take; a report of the host waits for no longer. */
const leaseSeconds = 60;
const pauseSeconds = 2;
/** A killed import leaves its lease behind: waits until that has ended, and a little longer. */
const attempts = leaseSeconds / pauseSeconds + 15;

export interface ImportDeps extends Deps {
  /** Takes a sentence for the operator, who waits. */
  readonly inform: (sentence: string) => void;
}

/**
 * Stores a device of another service, with its providers and all handles withheld. Repeatable: a
 * device that an earlier attempt has stored stays as it is now. The lease keeps reports of the
 * host away meanwhile.
 *
 * @throws ImportRefused where an agent has reported the device before, or does not stop reporting
 */
export async function importDevice(deps: ImportDeps, imported: ImportedDevice): Promise<Imported> {
  const { hostname } = imported.device;
  const holder = deps.uuid();
  await leased(deps, hostname, holder);
  try {
    return await importUnderLease(deps, imported);
  } finally {
    await deps.store.inventory.endLease(hostname, holder);
  }
}

async function leased(deps: ImportDeps, hostname: string, holder: string): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const [now, until] = [0, leaseSeconds].map((seconds) => timeNow(deps, seconds * 1000)) as [
      string,
      string,
    ];
    if (await deps.store.inventory.takeLease(hostname, holder, now, until)) return;
    if (attempt === 1) {
      deps.inform(
        `Host ${hostname} is being changed by a report, or by an import that was killed; waits for up to ${attempts * pauseSeconds} s.`,
      );
    }
    await deps.sleep(pauseSeconds * 1000);
  }
  throw new ImportRefused(
    `Host ${hostname} is still being changed, by reports or by another import. Stop its agent, and try again.`,
  );
}

async function importUnderLease(deps: Deps, imported: ImportedDevice): Promise<Imported> {
  const { device, deployables, handles, attributes, maintenance } = imported;
  const stored = await storedDevice(deps, device);
  if (stored) checkImported(stored, device);
  else {
    const none = { reviveHandles: [], changeHandles: [], dropHandles: [] };
    await deps.store.inventory.putNewDevices([
      { isNew: true, device, deployables, addHandles: handles, ...none },
    ]);
  }
  for (const attribute of attributes) {
    const deployable = deployables.find(({ uuid }) => uuid === attribute.deployableUuid);
    // False where an earlier attempt has added it, or an operator others since.
    if (deployable) await deps.store.attributes.add(deployable, attribute);
  }
  const current = stored ?? (await storedDevice(deps, device));
  if (maintenance !== undefined && current && !current.statusChange) {
    const at = timeNow(deps);
    const change = { status: device.status, by: importer, at, reason: maintenance };
    await deps.store.inventory.putStatus(current, change);
  }
  return stored ? 'present' : 'imported';
}

async function storedDevice(deps: Deps, { hostname, uuid }: Device): Promise<Device | undefined> {
  const { devices } = await deps.store.inventory.host(hostname);
  return devices.find((each) => each.uuid === uuid);
}

function checkImported(stored: Device, { hostname, address, adopted = [] }: Device): void {
  const adoptedUuids = new Set(stored.adopted?.map(({ uuid }) => uuid));
  const isSame =
    adoptedUuids.size === adopted.length && adopted.every(({ uuid }) => adoptedUuids.has(uuid));
  if (isSame && stored.adopted) return;
  throw new ImportRefused(
    `The device at ${address} on ${hostname} cannot be imported: an agent of this service has reported it already. Stop that agent, and forget the host.`,
  );
}
