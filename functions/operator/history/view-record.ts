import type { HistoryCall, HistoryRecord } from '#core/domain/history/history.ts';

export function viewRecord(record: HistoryRecord) {
  const { arqUuid, arqUuids = arqUuid ? [arqUuid] : [] } = record;
  return {
    id: record.id,
    at: record.at,
    kind: record.kind,
    from: record.from ?? null,
    to: record.to ?? null,
    since: record.since ?? null,
    hostname: record.hostname ?? null,
    device_uuid: record.deviceUuid ?? null,
    resource_provider_uuid: record.providerUuid ?? null,
    attach_handle_uuid: record.handleUuid ?? null,
    resource_class: record.resourceClass ?? null,
    arq_uuids: arqUuids,
    instance_uuid: record.instanceUuid ?? null,
    project_id: record.projectId ?? null,
    device_profile_name: record.profileName ?? null,
    by: record.by ?? null,
    request_id: record.requestId ?? null,
    reason: record.reason ?? null,
    call: record.call ? viewCall(record.call) : null,
    evidence: record.evidence ?? null,
  };
}

function viewCall({ project, given, ...call }: HistoryCall) {
  return { ...call, project_id: project, given: given ?? null };
}
