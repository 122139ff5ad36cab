import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { longestCleaning } from '#core/domain/device/handle-state.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { BoundArq } from '#core/store/arqs/binding-items.ts';
import type { ReleasePlan } from './new-release.ts';

interface Ending {
  readonly binding: InstanceBinding;
  /** The ARQs of the binding that end. */
  readonly arqs: readonly BoundArq[];
  /** Whether all ARQs of the binding end. */
  readonly isWhole: boolean;
  /** The request that ends them; undefined where none does. */
  readonly requestId: string | undefined;
}

/**
 * What the host has to clean up before the handles of these ARQs are free; undefined for nothing.
 * While a bind is under way each handle needs cleaning: the host may be working on it.
 */
export function planCleaning(ending: Ending): ReleasePlan | undefined {
  const { binding, arqs, isWhole } = ending;
  const isUnderWay = binding.state === 'BindStarted' || binding.state === 'provisioning';
  const handles = arqs.flatMap((arq) => {
    const { attachment, providerUuid } = arq.binding;
    if (!attachment) return [];
    const isCleaned = isUnderWay || attachment.cleanSeconds !== undefined;
    return isCleaned ? [{ providerUuid, attachment }] : [];
  });
  if (handles.length === 0) return undefined;
  // Without a request that ended the ARQs, the release follows from the request that bound them.
  const requestId = ending.requestId ?? binding.requestId;
  return {
    bindId: binding.bindId,
    ...(isWhole ? reprovisionJobOf(binding) : { isPart: true as const }),
    hostname: binding.hostname,
    handles: handles.map(({ providerUuid, attachment: { handleUuid } }) => ({
      providerUuid,
      handleUuid,
    })),
    ...longestCleaning(handles.map(({ attachment }) => attachment)),
    ...present({ requestId }),
  };
}

function reprovisionJobOf({
  state,
  jobUuid,
}: InstanceBinding): Pick<HostRelease, 'reprovisionJob'> {
  return state === 'provisioning' && jobUuid ? { reprovisionJob: jobUuid } : {};
}
