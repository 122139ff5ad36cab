import type { Deps } from '#core/deps.ts';
import { isProgrammable } from '#core/domain/arq/region-handles.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { Deployable } from '#core/domain/device/device.ts';
import { checkMayProgram } from '#core/domain/device/firmware/program-grants.ts';
import { DeployableInUse, DeployableNotFound, InvalidInput } from '#core/domain/errors.ts';
import { AgentAway } from '#core/domain/host/host-errors.ts';
import { heardAt, isLost } from '#core/domain/host/presence.ts';
import { workDueAt } from '#core/domain/host-work/deadlines.ts';
import type { HostProgram } from '#core/domain/host-work/host-work.ts';
import type { ReleaseId } from '#core/domain/ids.ts';
import { isUuid } from '#core/domain/uuid-form.ts';
import { present } from '#core/shapes/derive/present.ts';
import { handlesPerProgramMax } from '#core/store/inventory/regions.ts';
import { findUsableImage } from './find-usable-image.ts';

/**
 * Has a region programmed. Until the host has answered, a bind of the region waits behind the
 * program, as behind a release.
 *
 * @throws InvalidInput, DeployableNotFound, Forbidden, DeployableInUse, AgentAway, ImageNotFound,
 *   ImageConflict
 */
export async function programDeployable(
  deps: Deps,
  caller: Caller,
  uuid: string,
  imageId: string,
): Promise<Deployable> {
  if (!isUuid(uuid)) {
    throw new InvalidInput(`${JSON.stringify(uuid)} is not the uuid of a deployable.`);
  }
  const listed = await deps.listings.deployableByUuid(uuid.toLowerCase());
  const provider = listed && (await deps.store.inventory.provider(listed.providerUuid));
  if (!provider || provider.deployable.isGone) throw new DeployableNotFound(uuid);
  const { deployable, handles } = provider;
  const { host, devices } = await deps.store.inventory.host(deployable.hostname);
  const device = devices.find((each) => each.uuid === deployable.deviceUuid);
  if (!device) throw new DeployableNotFound(uuid);
  checkMayProgram(device, caller, deps.settings.policy, deps.clock());
  if (!isProgrammable(provider)) {
    throw new InvalidInput(
      `Deployable ${uuid} cannot be programmed: it is not a reconfigurable region.`,
    );
  }
  // The program keeps the region's handles, so a region without handles cannot be kept.
  const isKeepable = handles.length > 0 && handles.length <= handlesPerProgramMax;
  if (!isKeepable) throw new DeployableInUse(uuid);
  if (isLost(host, deps.clock())) throw new AgentAway(deployable.hostname, heardAt(host));
  await findUsableImage(deps, imageId);
  const now = deps.clock();
  const at = new Date(now).toISOString();
  const { providerUuid, hostname } = deployable;
  const program: HostProgram = {
    kind: 'program',
    id: deps.uuid() as ReleaseId,
    hostname,
    handles: handles.map((handle) => ({ providerUuid, handleUuid: handle.uuid })),
    imageId,
    providerUuid,
    startedAt: at,
    ...present({ requestId: caller.requestId }),
  };
  const note = { image: imageId, by: caller.userId, at, state: 'started' } as const;
  const dueAt = workDueAt('program', deps.settings, now);
  if (!(await deps.store.regions.startProgram(program, note, dueAt))) {
    throw new DeployableInUse(uuid);
  }
  deps.log.info('Program requested', { deployable: uuid, ...note });
  return deployable;
}
