import { ImageUnusable } from '../../clients/glance.ts';
import type { Deps } from '../../deps.ts';
import type { HostRelease } from '../../domain/arq.ts';
import { isProgrammable } from '../../domain/bind-plan.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Deployable } from '../../domain/device.ts';
import {
  AgentAway,
  DeployableInUse,
  DeployableNotFound,
  ImageConflict,
  ImageNotFound,
  InvalidInput,
} from '../../domain/errors.ts';
import { isUuid, type ReleaseId } from '../../domain/ids.ts';
import { isLost } from '../../domain/presence.ts';
import { handlesPerProgramMax } from '../../store/regions.ts';

/** The agent may fetch for a quarter of an hour; then nobody knows what the region holds. */
const deadlineSeconds = 20 * 60;

/**
 * Has a region programmed. Until its host has answered nobody is handed anything of it: a bind waits
 * behind it, as behind a release.
 *
 * @throws InvalidInput, DeployableNotFound, DeployableInUse, AgentAway, ImageNotFound, ImageConflict
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
  if (!isProgrammable(provider)) {
    throw new InvalidInput(
      `Deployable ${uuid} cannot be programmed: it is not a reconfigurable region.`,
    );
  }
  // What is kept are the handles: a region without any would be kept by nothing.
  const isKeepable = handles.length > 0 && handles.length <= handlesPerProgramMax;
  if (!isKeepable) throw new DeployableInUse(uuid);
  const { host } = await deps.store.inventory.host(deployable.hostname);
  if (isLost(host, deps.clock())) throw new AgentAway(deployable.hostname, host.presence?.at);
  await refuseUnusableImage(deps, imageId);
  const at = new Date(deps.clock()).toISOString();
  const { providerUuid, hostname } = deployable;
  const release: HostRelease = {
    id: deps.uuid() as ReleaseId,
    hostname,
    handles: handles.map((handle) => ({ providerUuid, handleUuid: handle.uuid })),
    program: { imageId, providerUuid },
    startedAt: at,
    ...(caller.requestId && { requestId: caller.requestId }),
  };
  const note = { image: imageId, by: caller.userId, at, state: 'started' } as const;
  const dueAt = new Date(deps.clock() + deadlineSeconds * 1000).toISOString();
  if (!(await deps.store.regions.startProgram(release, providerUuid, note, dueAt))) {
    throw new DeployableInUse(uuid);
  }
  deps.log.info('An operator has a region programmed.', { deployable: uuid, ...note });
  return deployable;
}

/** Its host finds out again; but the caller is there only now. */
async function refuseUnusableImage(deps: Deps, imageId: string): Promise<void> {
  try {
    await deps.clients.glance.findImage({ by: 'bitstream_id', value: imageId });
  } catch (error) {
    if (!(error instanceof ImageUnusable)) throw error;
    throw error.isAbsent ? new ImageNotFound(error.message) : new ImageConflict(error.message);
  }
}
