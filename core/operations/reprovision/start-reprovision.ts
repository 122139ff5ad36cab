import { JobTooLarge, retrySeconds } from '#core/clients/aws/iot-jobs.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { mistrustOf } from '#core/domain/host/trust.ts';
import { backoffSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { failBind, succeedBind } from '#core/operations/bind/finish-bind.ts';
import { askHost } from '#core/operations/host-work/ask-host.ts';
import {
  type PreparedWork,
  prepareHostWork,
  WorkImpossible,
} from '#core/operations/host-work/prepare-host-work.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';

/**
 * Seconds until the next attempt when AWS throttles: soon once, then some minutes apart. When all
 * hosts boot at once, AWS takes a quarter of an hour for their jobs. Faster retries would leave no
 * room for binds, which have a deadline.
 *
 * @param random in [0, 1)
 */
export function reprovisionRetrySeconds(attempt: number, random: number): number {
  return attempt === 1 ? retrySeconds : 120 + random * 240;
}

interface Work extends PreparedWork {
  readonly binding: InstanceBinding;
}

/**
 * Asks a host that has booted to make ready again what instances are bound to, by one job for all
 * instances that the job's note names. A binding that needs nothing is Bound at once; one that is
 * impossible fails.
 *
 * @param attempt which delivery of the message this is, from 1
 * @throws RetryLater while an image cannot be had, or AWS throttles
 */
export async function startReprovision(
  deps: ConsumerDeps,
  jobUuid: string,
  attempt: number,
): Promise<void> {
  try {
    await createJobFor(deps, jobUuid, attempt);
  } catch (error) {
    if (!(error instanceof RetryLater)) throw error;
    // Reprovisioning has no deadline, and SQS delivers a message a few hundred times at most.
    throw new RetryLater(error.message, Math.max(error.seconds, backoffSeconds(attempt, 30)));
  }
}

async function createJobFor(deps: ConsumerDeps, jobUuid: string, attempt: number): Promise<void> {
  const note = await deps.store.arqs.jobNote(jobUuid);
  if (!note?.bootedHost) return;
  const inventory = await deps.store.inventory.host(note.bootedHost);
  // A later boot has a job of its own, and so has the boot that ends a conflict.
  const isCurrent = inventory.host.bootId === note.bootId && !mistrustOf(inventory.host);
  const work: Work[] = [];
  for (const instance of isCurrent ? note.instances : []) {
    const binding = await deps.store.arqs.binding(instance);
    const isOurs = binding?.state === 'provisioning' && binding.jobUuid === jobUuid;
    if (isOurs) work.push(...(await workFor(deps, binding, inventory)));
  }
  if (work.length > 0) await createJob(deps, jobUuid, inventory.host, work, attempt);
  else await deps.store.arqs.forgetJob(jobUuid);
}

/** Empty where the binding is resolved without the host. */
async function workFor(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  inventory: HostInventory,
): Promise<Work[]> {
  try {
    const work = await prepareHostWork(deps, binding, inventory);
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
  { hostname, bootId }: StoredHost,
  work: readonly Work[],
  attempt: number,
): Promise<void> {
  for (const provider of work.flatMap(({ programs }) => programs)) {
    await deps.store.regions.forgetFunction(provider);
  }
  const request = { uuid: jobUuid, hostname, bootId: bootId as string };
  const instances = work.map(({ binding }) => binding.instanceUuid);
  try {
    const steps = work.flatMap((each) => each.steps);
    await askHost(deps, 'reprovision', request, { steps }, { instances });
  } catch (error) {
    if (error instanceof RetryLater) {
      throw new RetryLater(error.message, reprovisionRetrySeconds(attempt, deps.random()));
    }
    if (!(error instanceof JobTooLarge)) throw error;
    const failure = { cause: 'size', reason: error.message } as const;
    for (const { binding } of work) await failBind(deps, binding, failure);
  }
}
