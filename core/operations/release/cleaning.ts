import type { Deps } from '../../deps.ts';
import type { HostRelease, InstanceBinding } from '../../domain/arq.ts';
import { needsCleaning } from '../../domain/bind-plan.ts';
import type { ReleaseId } from '../../domain/ids.ts';
import type { BoundArq } from '../../store/binding-items.ts';
import type { Cleaning } from '../../store/bindings.ts';

/** A host that has not confirmed by then has its handles put into quarantine. */
export const releaseDeadlineSeconds = 300;

/**
 * What the host has to do before the handles of these ARQs are free, or undefined for nothing. While
 * a bind is under way that is so for each of them: the host may be working on it right now.
 *
 * @param isWhole whether nothing of the binding is left
 */
export function planCleaning(
  deps: Deps,
  binding: InstanceBinding,
  arqs: readonly BoundArq[],
  isWhole: boolean,
): Cleaning | undefined {
  const isUnderWay = binding.state === 'BindStarted' || binding.state === 'provisioning';
  const handles = arqs.flatMap((arq) => {
    const { attachment, providerUuid } = arq.binding;
    if (!attachment) return [];
    const wasMadeReady = isUnderWay || needsCleaning(attachment, deps.settings.mdevOwner);
    return wasMadeReady ? [{ providerUuid, handleUuid: attachment.handleUuid }] : [];
  });
  if (handles.length === 0) return undefined;
  // It follows from what asked for its end; from its bind where nobody did.
  const requestId = deps.requestId ?? binding.requestId;
  const release: HostRelease = {
    id: deps.uuid() as ReleaseId,
    bindId: binding.bindId,
    ...(isWhole ? bootJobOf(binding) : { isPart: true as const }),
    hostname: binding.hostname,
    handles,
    startedAt: new Date(deps.clock()).toISOString(),
    ...(requestId && { requestId }),
  };
  const dueAt = new Date(deps.clock() + releaseDeadlineSeconds * 1000).toISOString();
  return { release, dueAt };
}

function bootJobOf({ state, jobUuid }: InstanceBinding): Pick<HostRelease, 'bootJob'> {
  return state === 'provisioning' && jobUuid ? { bootJob: jobUuid } : {};
}
