import type { Deps } from '#core/deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Caller } from '#core/domain/caller.ts';
import { deriveHostState } from '#core/domain/host/host-state.ts';
import { HostInUse, HostIsBack, HostIsBusy } from '#core/domain/operator-errors.ts';
import { retireDevices } from '#core/operations/devices/put-devices.ts';
import { storedProviders } from '#core/operations/devices/set-device-status.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { findHost } from './find-host.ts';

/** The API's functions run no longer, so a request that died holds up reports no longer. */
const leaseSeconds = 30;

const instancesNamed = 5;

/**
 * Forgets a host that is gone for good. Its devices end as devices that a report no longer names:
 * their handles are deleted, and then, from the stream, their providers in Placement and their
 * rows. The host's own rows go last, so that a request that died is found and asked again. The
 * lease keeps reports away meanwhile; a host that reports later is new.
 *
 * @throws HostNotFound; HostIsBack, HostInUse, HostIsBusy saying what is in the way
 */
export async function forgetHost(deps: Deps, caller: Caller, hostname: string): Promise<void> {
  const { inventory } = deps.store;
  checkGone(deps, await findHost(deps, hostname));
  const holder = deps.uuid();
  const [now, until] = [0, leaseSeconds].map((seconds) => timeNow(deps, seconds * 1000)) as [
    string,
    string,
  ];
  if (!(await inventory.takeLease(hostname, holder, now, until))) throw new HostIsBusy(hostname);
  try {
    // A report may have come between the first look and the lease.
    const read = await findHost(deps, hostname);
    checkGone(deps, read);
    checkUnclaimed(hostname, await readProviders(deps, read));
    await retireDevices(
      deps,
      read.devices.filter(({ isGone }) => !isGone),
    );
    // No bind claims a handle that is gone; one may have come before.
    const retired = await findHost(deps, hostname);
    const providers = await readProviders(deps, retired);
    checkUnclaimed(hostname, providers);
    await endReleases(deps, providers);
    for (const device of retired.devices) await enableDevice(deps, hostname, device.uuid);
    if (!(await inventory.deleteHost(hostname, holder))) throw new HostIsBusy(hostname);
  } finally {
    await inventory.endLease(hostname, holder);
  }
  deps.log.warn('Host forgotten', { host: hostname, by: caller.userId });
}

function checkGone(deps: Deps, { host, summary }: HostInventory): void {
  const { state, since } = deriveHostState(host, summary ?? {}, deps.clock());
  const isConnected = host.presence?.isConnected === true;
  if (state === 'away' || (state === 'never-reported' && !isConnected)) return;
  throw new HostIsBack(
    host.hostname,
    isConnected ? `${state}, with its agent connected,` : state,
    since,
  );
}

async function readProviders(deps: Deps, { devices }: HostInventory): Promise<StoredProvider[]> {
  return deps.store.inventory.providers(devices.flatMap(({ providers }) => providers));
}

function checkUnclaimed(hostname: string, providers: readonly StoredProvider[]): void {
  const claims = providers.flatMap(({ handles }) => handles.flatMap(({ claim }) => claim ?? []));
  if (claims.length === 0) return;
  const instances = [...new Set(claims.map(({ instanceUuid }) => instanceUuid))];
  const named = instances.slice(0, instancesNamed);
  const more = instances.length - named.length;
  throw new HostInUse(hostname, claims.length, more > 0 ? [...named, `${more} more`] : named);
}

/** No host confirms them any more. The handles are gone, so none of them is claimed again. */
async function endReleases(deps: Deps, providers: readonly StoredProvider[]): Promise<void> {
  const { inventory, releases } = deps.store;
  const handles = providers.flatMap((each) => each.handles);
  for (const id of new Set(handles.flatMap(({ release }) => release ?? []))) {
    const work = await releases.awaited(id);
    if (work) await releases.confirm(work, makeChangeNote(deps));
  }
  await inventory.deleteGoneHandles(handles);
}

/** Devices in maintenance would be kept until they come back. */
async function enableDevice(deps: Deps, hostname: string, uuid: string): Promise<void> {
  const { inventory } = deps.store;
  await untilWritten(
    'devices',
    async () => {
      const { devices } = await inventory.host(hostname);
      const device = devices.find((each) => each.uuid === uuid);
      if (device?.status !== 'maintaining') return undefined;
      const at = timeNow(deps);
      const change = { status: 'enabled', by: 'forget', at } as const;
      const providers = await storedProviders(deps, device.providers);
      return (await inventory.changeStatus({ ...device, providers }, change))
        ? undefined
        : contended;
    },
    () => new HostIsBusy(hostname),
  );
}
