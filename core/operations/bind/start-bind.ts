import { JobTooLarge } from '../../clients/iot-jobs.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import { jobId } from '../../contracts/job-ids.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import { HostInConflict } from '../../domain/errors.ts';
import type { BindId } from '../../domain/ids.ts';
import { type HostWork, planHostWork, WorkImpossible } from '../host-work/plan-host-work.ts';
import { failBind, failOvertaken, refuseOtherBoot, succeedBind } from './finish-bind.ts';

/**
 * Asks the host to make ready what an instance was promised: one job for all of it, its id the bind's,
 * so that a message that comes twice asks once.
 *
 * @throws RetryLater while a handle is still being cleaned up behind its last holder, an image cannot
 *   be had, or AWS throttles
 */
export async function startBind(
  deps: ConsumerDeps,
  instanceUuid: string,
  bindId: BindId,
): Promise<void> {
  const binding = await deps.store.arqs.binding(instanceUuid);
  if (binding?.bindId !== bindId || binding.state !== 'BindStarted') return;
  const inventory = await deps.store.inventory.host(binding.hostname);
  const { bootId } = inventory.host;
  if (bootId === undefined) {
    const reason = `Host ${binding.hostname} has never reported.`;
    await failBind(deps, binding, { cause: 'agent', reason });
    return;
  }
  if (inventory.host.conflict) {
    const reason = new HostInConflict(binding.hostname).message;
    await failBind(deps, binding, { cause: 'host', reason });
    return;
  }
  try {
    const work = await planHostWork(deps, binding, inventory);
    if (work.steps.length === 0) await succeedBind(deps, binding, bootId);
    else await createJob(deps, binding, bootId, work);
  } catch (error) {
    if (!(error instanceof WorkImpossible || error instanceof JobTooLarge)) throw error;
    const cause = error instanceof WorkImpossible ? error.cause : 'size';
    await failBind(deps, binding, { cause, reason: error.message });
  }
}

async function createJob(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  bootId: string,
  { steps, programs }: HostWork,
): Promise<void> {
  const id = jobId(deps.settings.stage, 'bind', binding.bindId);
  // A bind that comes before the next report must not take the old function for what is there.
  for (const provider of programs) await deps.store.regions.forgetFunction(provider);
  const note = { instances: [binding.instanceUuid], bootId };
  if (!(await deps.store.arqs.noteJob(binding.bindId, note))) {
    // Its job may be there, and is for another boot: its success would be none under this one.
    await refuseOtherBoot(deps, binding.hostname, bootId);
    return failOvertaken(deps, binding);
  }
  await deps.clients.jobs.create(id, {
    version: 1,
    action: 'prepare',
    host: binding.hostname,
    boot_id: bootId,
    bind_id: binding.bindId,
    ...(binding.requestId && { request_id: binding.requestId }),
    steps: [...steps],
  });
  deps.log.info('The host was asked to prepare.', {
    job: id,
    host: binding.hostname,
    instance: binding.instanceUuid,
  });
}
