import { JobTooLarge } from '#core/clients/aws/iot-jobs.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { PrepareStep } from '#core/contracts/jobs/job-document.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { refusalOfMistrusted } from '#core/domain/host/host-errors.ts';
import { type WayName, wayFor } from '#core/domain/host-work/ways.ts';
import type { BindId } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { askByMessage } from '#core/operations/host-work/ask-by-message.ts';
import { askHost, type HostRequest, type Task } from '#core/operations/host-work/ask-host.ts';
import { endJob } from '#core/operations/host-work/end-job.ts';
import {
  type PreparedWork,
  prepareHostWork,
  WorkImpossible,
} from '#core/operations/host-work/prepare-host-work.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { bindAgain, failBind, refuseOtherBoot, succeedBind } from './finish-bind.ts';
import {
  askForAll,
  leaveToSharedJob,
  type Share,
  sharesBeside,
  stopSharing,
  toShare,
  waitForJob,
} from './share-job.ts';

/**
 * Asks the host to make ready what an instance is bound to: by a job, which others may share while
 * AWS throttles, or by a message where the host only checks what a region holds. The bind's id is
 * the job's uuid, so that a message that comes twice creates one job.
 *
 * @param wasSent the host has not answered the message in time
 * @throws RetryLater while a handle is still being cleaned up behind its last holder, Glance or
 *   S3 is away, AWS throttles, or a shared job has the bind
 */
export async function startBind(
  deps: ConsumerDeps,
  instanceUuid: string,
  bindId: BindId,
  wasSent = false,
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
  const refusal = refusalOfMistrusted(inventory.host);
  if (refusal) {
    await failBind(deps, binding, { cause: 'host', reason: refusal.message });
    return;
  }
  leaveToSharedJob(deps, inventory, binding);
  try {
    const work = await prepareHostWork(deps, binding, inventory);
    // The host prepares nothing, so no later boot takes anything away.
    if (work.steps.length === 0) await succeedBind(deps, binding);
    else await askFor(deps, binding, { inventory, bootId, wasSent }, work);
  } catch (error) {
    if (!(error instanceof WorkImpossible || error instanceof JobTooLarge)) throw error;
    const cause = error instanceof WorkImpossible ? error.cause : 'size';
    await failBind(deps, binding, { cause, reason: error.message });
  }
}

interface Addressed {
  readonly inventory: HostInventory;
  readonly bootId: string;
  readonly wasSent: boolean;
}

/** What is sent, whichever way it goes. */
interface BindToAsk {
  readonly binding: InstanceBinding;
  readonly inventory: HostInventory;
  readonly request: HostRequest;
  readonly task: Task<'bind'>;
  /** Undefined for a bind that no shared job may have. */
  readonly share?: Share | undefined;
  readonly others: readonly Share[];
}

async function askFor(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  { inventory, bootId, wasSent }: Addressed,
  { steps, programs }: PreparedWork,
): Promise<void> {
  const { host } = inventory;
  const { bindId, instanceUuid, hostname, requestId } = binding;
  // A bind before the host's next report must not find the old function.
  for (const provider of programs) await deps.store.regions.forgetFunction(provider);
  const work = { isShort: steps.every(isCheck), wasSent };
  const isMessage = wayFor(work, host) === 'message';
  const note = { instances: [instanceUuid], bootId, ...(isMessage && { isMessage }) };
  if (!(await deps.store.arqs.noteJob(bindId, note))) {
    // The job may exist for an earlier boot: what it made is gone, or the agent refuses it.
    await refuseOtherBoot(deps, hostname, bootId);
    await bindAgain(deps, binding);
    return endJob(deps, 'bind', bindId);
  }
  const share = toShare(inventory, binding, steps);
  const others = share ? await sharesBeside(deps, share, inventory, bootId) : [];
  if (others === 'ended') return;
  const request = { uuid: bindId, hostname, bootId, requestId };
  const task = { bind_id: bindId, steps: [...steps] };
  const way = wayFor({ ...work, besideCount: others.length }, host);
  await ask[way](deps, { binding, inventory, request, task, share, others });
}

const ask: Readonly<Record<WayName, (deps: ConsumerDeps, bind: BindToAsk) => Promise<void>>> = {
  async message(deps, bind) {
    const fields = { instance: bind.binding.instanceUuid };
    const isSent = await askByMessage(deps, 'bind', bind.request, bind.task, fields);
    if (!isSent) await ask['own-job'](deps, bind);
  },

  async 'shared-job'(deps, { share, others, inventory, request }) {
    if (share) await askForAll(deps, [share, ...others], inventory.host, request.bootId);
  },

  async 'own-job'(deps, { binding, inventory, request, task, share }) {
    try {
      await askHost(deps, 'bind', request, task, { instance: binding.instanceUuid });
      if (share && inventory.waiting.length > 0) await stopSharing(deps, binding);
    } catch (error) {
      if (share && error instanceof RetryLater) await waitForJob(deps, share);
      throw error;
    }
  },
};

/** Whether the step changes nothing on the host. */
function isCheck(step: PrepareStep): boolean {
  return 'content' in step && !('image' in step.content);
}
