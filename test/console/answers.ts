// Rows of the API's answers, with what a test does not name.

import type { HistoryRecord, Incident } from '#console/api/answers.ts';

export const time = '2026-11-23T01:00:00+00:00';

export const aRecord: HistoryRecord = {
  id: 'r',
  at: '2026-11-23T01:00:00.000Z',
  kind: 'bind.failed',
  from: null,
  to: null,
  since: null,
  hostname: 'cmp1',
  device_uuid: null,
  resource_provider_uuid: null,
  attach_handle_uuid: null,
  resource_class: null,
  arq_uuids: [],
  instance_uuid: null,
  project_id: null,
  device_profile_name: null,
  by: null,
  request_id: null,
  reason: 'Too hot.',
  call: null,
  evidence: null,
};

export function anIncident(part: Partial<Incident>): Incident {
  return {
    kind: 'failed-bind',
    since: time,
    hostname: 'cmp1',
    device_uuid: null,
    arq_uuid: null,
    instance_uuid: null,
    project_id: null,
    device_profile_name: null,
    reason: 'The GPU is on fire.',
    next_step: 'Put it out.',
    action: null,
    runbook: null,
    ended_at: null,
    ended_by: null,
    ...part,
  };
}
