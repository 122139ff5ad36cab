import type { Deps } from '../deps.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import { boundArqs } from './bound-arqs.ts';
import { planCleaning } from './cleaning.ts';

/** The host has made everything ready. A binding that is another by now stays as it is. */
export async function succeedBind(deps: Deps, binding: InstanceBinding): Promise<void> {
  const arqs = await boundArqs(deps, binding);
  const now = new Date(deps.clock()).toISOString();
  const isDone = await deps.store.bindings.succeed(binding, arqs, now);
  if (isDone) deps.log.info('Bound.', { instance: binding.instanceUuid, bind: binding.bindId });
}

/**
 * Nothing of the binding is made ready, and nothing stays claimed. The ARQs stay, as failed, until
 * Nova deletes them.
 */
export async function failBind(
  deps: Deps,
  binding: InstanceBinding,
  reason: string,
): Promise<void> {
  const arqs = await boundArqs(deps, binding);
  const cleaning = planCleaning(deps, binding, arqs, true);
  const isDone = await deps.store.bindings.fail(binding, reason, {
    arqs,
    fate: 'unbound',
    left: [],
    ...(cleaning && { cleaning }),
    now: new Date(deps.clock()).toISOString(),
  });
  if (isDone) {
    deps.log.warn('Bind failed.', {
      instance: binding.instanceUuid,
      bind: binding.bindId,
      reason,
    });
  }
}
