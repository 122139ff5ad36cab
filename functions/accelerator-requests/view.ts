import { arqAnswer } from '#core/contracts/api/accelerator-requests.ts';
import type { Arq, ShownState } from '#core/domain/arq/arq.ts';
import { attachedAs } from '#core/domain/arq/attach-types.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { selfLink } from '#functions/http/links.ts';

/**
 * @param state `unknown` while the host cannot be asked; the attach handle is shown all the same
 */
export function viewArq(arq: Arq, base: string, state: ShownState = arq.state) {
  const { binding } = arq;
  // Only an ARQ that is attached, or is being reprovisioned, shows its handle.
  const attachment =
    arq.state === 'Bound' || arq.state === 'provisioning' ? binding?.attachment : undefined;
  return toWire(arqAnswer, {
    ...arq,
    state,
    deviceProfileGroupId: arq.groupId,
    hostname: binding?.hostname,
    deviceRpUuid: binding?.providerUuid,
    instanceUuid: binding?.instanceUuid,
    attachHandleType: attachment ? attachedAs(arq.group, attachment.type) : '',
    attachHandleUuid: attachment?.handleUuid,
    attachHandleInfo: attachment?.info ?? {},
    links: [selfLink(base, `/accelerator_requests/${arq.uuid}`)],
  });
}
