import type { Arq, ShownState } from '#core/domain/arq/arq.ts';
import { selfLink, timestamp } from '#functions/http/links.ts';

/**
 * @param state `unknown` while the host cannot be asked; the attach handle is shown all the same
 */
export function viewArq(arq: Arq, base: string, state: ShownState = arq.state) {
  const { binding } = arq;
  // Only an ARQ that is attached, or is being reprovisioned, shows its handle.
  const attachment =
    arq.state === 'Bound' || arq.state === 'provisioning' ? binding?.attachment : undefined;
  return {
    uuid: arq.uuid as string,
    state,
    device_profile_name: arq.deviceProfileName,
    device_profile_group_id: arq.groupId,
    hostname: binding?.hostname ?? null,
    device_rp_uuid: binding?.providerUuid ?? null,
    instance_uuid: binding?.instanceUuid ?? null,
    project_id: arq.projectId,
    attach_handle_type: attachment?.type ?? '',
    attach_handle_uuid: attachment?.handleUuid ?? null,
    attach_handle_info: attachment?.info ?? {},
    created_at: timestamp(arq.createdAt),
    updated_at: timestamp(arq.updatedAt),
    links: [selfLink(base, `/accelerator_requests/${arq.uuid}`)],
  };
}
