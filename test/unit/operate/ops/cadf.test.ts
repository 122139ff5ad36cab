import { expect, it } from 'vitest';
import { cadfEvent } from '#operate/ops/cadf.ts';

const record = { id: '6b1e3d6e-25cf-5b44-897b-33533186ae14', at: '2026-03-01T12:00:00.123Z' };

it('a refused call is an event of its user, with the HTTP status as its reason', () => {
  const call = {
    rule: 'cyborg:operator:host:forget',
    method: 'DELETE',
    status: 409,
    path: '/operator/v1/hosts/cmp1',
    project_id: 'p1',
    roles: ['admin'],
    given: null,
  };
  const asked = { ...record, kind: 'call.refused', by: 'user:u1', request_id: 'req-1', call };
  expect(cadfEvent({ ...asked, reason: 'It is online.' })).toMatchObject({
    typeURI: 'http://schemas.dmtf.org/cloud/audit/1.0/event',
    eventType: 'activity',
    id: record.id,
    eventTime: '2026-03-01T12:00:00.123+0000',
    action: 'delete/cyborg:operator:host:forget',
    outcome: 'failure',
    initiator: {
      typeURI: 'service/security/account/user',
      id: 'u1',
      project_id: 'p1',
      roles: ['admin'],
      request_id: 'req-1',
    },
    target: { typeURI: 'service/accelerator/hosts', id: 'cmp1' },
    observer: { typeURI: 'service/accelerator' },
    requestPath: '/operator/v1/hosts/cmp1',
    reason: { reasonType: 'HTTP', reasonCode: '409', reasonDescription: 'It is online.' },
  });
});

it.each([
  ['arq.created', { arq_uuids: ['a1'] }, 'create/arq.created', 'arq', 'a1'],
  ['handle.claimed', { attach_handle_uuid: 'h1' }, 'update/handle.claimed', 'handle', 'h1'],
  ['host.forgotten', { hostname: 'cmp1' }, 'delete/host.forgotten', 'host', 'cmp1'],
  ['region.programmed', { device_uuid: 'd1' }, 'deploy/region.programmed', 'region', 'd1'],
])('%s is an event of its subject', (kind, fields, action, subject, id) => {
  expect(cadfEvent({ ...record, kind, by: 'sweep', ...fields })).toMatchObject({
    action,
    outcome: 'success',
    initiator: { typeURI: 'service/accelerator', id: 'sweep' },
    target: { typeURI: `service/accelerator/${subject}`, id },
    attachments: [{ content: { kind, ...fields } }],
  });
});

it.each([
  ['region.programmed', 'failed', 'failure'],
  ['device.programmed', 'failed', 'failure'],
  ['device.programmed', 'done', 'success'],
])('%s to %s is a %s', (kind, to, outcome) => {
  expect(cadfEvent({ ...record, kind, to, by: 'agent' })).toMatchObject({ outcome });
});

it('a bind that failed is a failure, with its reason', () => {
  const failed = { ...record, kind: 'bind.failed', instance_uuid: 'i1', reason: 'No answer.' };
  expect(cadfEvent(failed)).toMatchObject({
    outcome: 'failure',
    target: { typeURI: 'service/accelerator/bind', id: 'i1' },
    reason: { reasonCode: 'bind.failed', reasonDescription: 'No answer.' },
  });
});
