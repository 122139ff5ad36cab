import type { NovaDeps } from '#core/deps.ts';
import {
  type Arq,
  heldHandles,
  type InstanceBinding,
  type ShownState,
} from '#core/domain/arq/arq.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { mayHaveRebooted } from '#core/domain/host/presence.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import type { HandleUuid } from '#core/domain/ids.ts';
import { wantedImage } from '#core/domain/profile/device-profile.ts';

/**
 * The states to show, which follow from stored facts alone: each route shows the same. A host-made
 * ARQ is `unknown` while the agent of its host is not connected, because the host may have
 * rebooted, and while two agents report as that host. After a reboot it is `provisioning` even
 * before the row says so, until the host has it again; so is an mdev that is made ahead while its
 * host reports without it. This costs one read for each host with such ARQs, one for their
 * bindings and one for mdevs that are made ahead, and nothing for other ARQs.
 *
 * @param listed the binding of all ARQs, if the caller has read it already
 */
export async function shownStates(
  deps: NovaDeps,
  arqs: readonly Arq[],
  listed?: InstanceBinding,
): Promise<ReadonlyMap<string, ShownState>> {
  const made = arqs.filter(isMade);
  const hostnames = [...new Set(made.flatMap(({ binding }) => binding?.hostname ?? []))];
  const [hosts, bindings, gone] = await Promise.all([
    Promise.all(hostnames.map((hostname) => deps.store.inventory.hostAlone(hostname))),
    readBindings(deps, made, listed),
    readGone(deps, made.filter(isAhead)),
  ]);
  const shown = (arq: Arq): ShownState => {
    const host = hosts.find(({ hostname }) => hostname === arq.binding?.hostname);
    if (!host || !made.includes(arq)) return arq.state;
    const binding = bindings.get(String(arq.binding?.instanceUuid));
    // Nova lists a bind that the host has just ended. If a lost presence event made it unknown,
    // Nova would wait for an event that no later change sends.
    const workedAt = binding?.state === 'Bound' ? binding.resolvedAt : undefined;
    if (mistrustOf(host) || mayHaveRebooted(host, deps.clock(), workedAt)) return 'unknown';
    const isMissing =
      isOfEarlierBoot(host, binding) ||
      (isAhead(arq) && host.isReprovisioning) ||
      gone.has(arq.binding?.attachment?.handleUuid);
    return isMissing ? 'provisioning' : arq.state;
  };
  return new Map(arqs.map((arq) => [arq.uuid, shown(arq)]));
}

async function readBindings(
  deps: NovaDeps,
  made: readonly Arq[],
  listed: InstanceBinding | undefined,
): Promise<ReadonlyMap<string, InstanceBinding>> {
  if (listed) return new Map([[listed.instanceUuid, listed]]);
  const instances = new Set(made.flatMap(({ binding }) => binding?.instanceUuid ?? []));
  return instances.size === 0 ? new Map() : deps.store.arqs.bindings([...instances]);
}

/** The handles of these ARQs that their hosts no longer report. */
async function readGone(
  deps: NovaDeps,
  arqs: readonly Arq[],
): Promise<ReadonlySet<HandleUuid | undefined>> {
  if (arqs.length === 0) return new Set();
  const handles = await deps.store.inventory.handles(heldHandles(arqs));
  return new Set(handles.flatMap(({ uuid, isGone }) => (isGone ? [uuid] : [])));
}

/** The agent makes it: an mdev, or the image of a region. */
function isMade({ state, binding, group }: Arq): boolean {
  if (!binding?.attachment || (state !== 'Bound' && state !== 'provisioning')) return false;
  return binding.attachment.prepare !== undefined || !!wantedImage(group);
}

/** An mdev that is made ahead is missing after a boot until the boot's report describes it. */
function isAhead({ binding }: Arq): boolean {
  return binding?.attachment?.prepare === 'ahead';
}

function isOfEarlierBoot(host: StoredHost, binding: InstanceBinding | undefined): boolean {
  return binding?.bootId !== undefined && binding.bootId !== host.bootId;
}
