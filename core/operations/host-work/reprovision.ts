import { JobTooLarge, retrySeconds } from '../../clients/iot-jobs.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import { jobId } from '../../contracts/job-ids.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import type { Host } from '../../domain/device.ts';
import { backoffSeconds, RetryLater } from '../../domain/retry-later.ts';
import type { HostInventory } from '../../store/hosts.ts';
import { failBind, succeedBind } from '../bind/finish-bind.ts';
import { type HostWork, planHostWork, WorkImpossible } from './plan-host-work.ts';

/**
 * When AWS throttles: soon once, for it may be by chance, then some minutes apart. When all hosts boot
 * at once, AWS takes their jobs one after the other for a quarter of an hour; binds, which have a
 * deadline, would find no place between them if each asked as often as it could.
 *
 * @param random in [0, 1)
 */
export function bootRetrySeconds(attempt: number, random: number): number {
  return attempt === 1 ? retrySeconds : 120 + random * 240;
}

interface Work extends HostWork {
  readonly binding: InstanceBinding;
}

/**
 * Asks a host that has booted to make again what instances had on it: one job for those that the job's
 * row names. What needs nothing is bound again at once, what cannot be had fails.
 *
 * @param attempt which delivery of the message this is, from 1
 * @throws RetryLater while an image cannot be had, or AWS throttles
 */
export async function reprovision(
  deps: ConsumerDeps,
  jobUuid: string,
  attempt: number,
): Promise<void> {
  try {
    await reprovisionNow(deps, jobUuid, attempt);
  } catch (error) {
    if (!(error instanceof RetryLater)) throw error;
    // No deadline ends it, and messages come again a few hundred times only.
    throw new RetryLater(error.message, Math.max(error.seconds, backoffSeconds(attempt, 30)));
  }
}

async function reprovisionNow(deps: ConsumerDeps, jobUuid: string, attempt: number): Promise<void> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  if (!note?.bootedHost) return;
  const inventory = await deps.store.inventory.host(note.bootedHost);
  // Under a later boot another job does it, and so does the boot by which a conflict ends.
  const isCurrent = inventory.host.bootId === note.bootId && !inventory.host.conflict;
  const work: Work[] = [];
  for (const instance of isCurrent ? note.instances : []) {
    const binding = await deps.store.arqs.binding(instance);
    const isOurs = binding?.state === 'provisioning' && binding.jobUuid === jobUuid;
    if (isOurs) work.push(...(await workFor(deps, binding, inventory)));
  }
  if (work.length > 0) await createJob(deps, jobUuid, inventory.host, work, attempt);
  else await deps.store.arqs.forgetJob(jobUuid);
}

/** None where the binding is resolved without the host. */
async function workFor(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  inventory: HostInventory,
): Promise<Work[]> {
  try {
    const work = await planHostWork(deps, binding, inventory);
    if (work.steps.length > 0) return [{ ...work, binding }];
    await succeedBind(deps, binding, inventory.host.bootId);
  } catch (error) {
    if (!(error instanceof WorkImpossible)) throw error;
    await failBind(deps, binding, { cause: error.cause, reason: error.message });
  }
  return [];
}

async function createJob(
  deps: ConsumerDeps,
  jobUuid: string,
  { hostname, bootId }: Host,
  work: readonly Work[],
  attempt: number,
): Promise<void> {
  for (const provider of work.flatMap(({ programs }) => programs)) {
    await deps.store.regions.forgetFunction(provider);
  }
  const id = jobId(deps.settings.stage, 'boot', jobUuid);
  try {
    await deps.clients.jobs.create(id, {
      version: 1,
      action: 'reconcile',
      host: hostname,
      boot_id: bootId as string,
      steps: work.flatMap(({ steps }) => steps),
    });
    deps.log.info('The host was asked to make again what it lost.', {
      job: id,
      host: hostname,
      instances: work.map(({ binding }) => binding.instanceUuid),
    });
  } catch (error) {
    if (error instanceof RetryLater) {
      throw new RetryLater(error.message, bootRetrySeconds(attempt, deps.random()));
    }
    if (!(error instanceof JobTooLarge)) throw error;
    const failure = { cause: 'size', reason: error.message } as const;
    for (const { binding } of work) await failBind(deps, binding, failure);
  }
}
