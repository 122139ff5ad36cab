import type { Deps } from '../../deps.ts';
import type { BindFailure, InstanceBinding } from '../../domain/arq.ts';
import { unboundUntil } from '../../domain/deadlines.ts';
import { RetryLater } from '../../domain/retry-later.ts';
import type { BoundArq } from '../../store/binding-items.ts';
import { newRelease } from '../release/new-release.ts';
import { planCleaning } from '../release/plan-cleaning.ts';
import { boundArqs } from './bound-arqs.ts';

/** One of its ARQs may be deleted between reading and writing; then what is left is resolved. */
const roundsMax = 30;

/**
 * The host has made everything ready.
 *
 * @param bootId under which it has; undefined where it had nothing to do
 * @throws RetryLater where that is gone: the host has booted again
 */
export async function succeedBind(
  deps: Deps,
  binding: InstanceBinding,
  bootId?: string,
): Promise<void> {
  const isDone = await resolve(deps, binding, async (current, arqs) => {
    if (await deps.store.bindings.succeed(current, arqs, nowOf(deps), bootId)) return true;
    if (bootId !== undefined) await refuseOtherBoot(deps, current.hostname, bootId);
    return false;
  });
  if (isDone) deps.log.info('Bound.', namesOf(binding));
}

/** @throws RetryLater where the host has booted since */
export async function refuseOtherBoot(deps: Deps, hostname: string, bootId: string): Promise<void> {
  const { host } = await deps.store.inventory.host(hostname);
  if (host.bootId !== bootId) throw new RetryLater(`Host ${hostname} has booted again.`, 1);
}

/**
 * Nothing of the binding is made ready, and nothing stays claimed. The ARQs stay, as failed, until
 * Nova deletes them.
 *
 * @param left what the host has said: where it has looked and nothing was made, nothing is
 *   cleaned up
 */
export async function failBind(
  deps: Deps,
  binding: InstanceBinding,
  failure: BindFailure,
  left?: 'nothing',
): Promise<void> {
  const isDone = await resolve(deps, binding, (current, arqs) => {
    const ending = { binding: current, arqs, isWhole: true, requestId: deps.requestId };
    const plan = left ? undefined : planCleaning({ ...ending, mdevOwner: deps.settings.mdevOwner });
    return deps.store.bindings.fail(current, failure, {
      arqs,
      fate: 'unbound',
      left: [],
      ...(plan && { cleaning: newRelease(deps, plan) }),
      now: nowOf(deps),
      unboundUntil: unboundUntil(deps.settings, deps.clock()),
    });
  });
  if (!isDone) return;
  deps.log.warn('Bind failed.', { ...namesOf(binding), ...failure });
}

/** A bind that its host's boot has overtaken; what is provisioning is provisioned anew instead. */
export async function failOvertaken(deps: Deps, binding: InstanceBinding): Promise<void> {
  if (binding.state !== 'BindStarted') return;
  const reason = `Host ${binding.hostname} has booted in the meantime.`;
  await failBind(deps, binding, { cause: 'boot', reason });
}

/** What a line about a binding names; a host that answers knows of no request. */
function namesOf({ instanceUuid, bindId, requestId }: InstanceBinding) {
  return {
    instance: instanceUuid,
    bind: bindId,
    ...(requestId && { request_id: requestId }),
  };
}

/**
 * Writes until it holds, or the binding is another, or is no longer in the state it was given in.
 */
export async function resolve(
  deps: Deps,
  binding: InstanceBinding,
  write: (current: InstanceBinding, arqs: BoundArq[]) => Promise<boolean>,
): Promise<boolean> {
  for (let round = 1; round <= roundsMax; round++) {
    const current = await deps.store.arqs.binding(binding.instanceUuid);
    const isSame =
      current?.bindId === binding.bindId &&
      current.state === binding.state &&
      current.jobUuid === binding.jobUuid;
    if (!isSame) return false;
    if (await write(current, await boundArqs(deps, current))) return true;
  }
  throw new Error(`The binding of instance ${binding.instanceUuid} was not resolved.`);
}

function nowOf(deps: Deps): string {
  return new Date(deps.clock()).toISOString();
}
