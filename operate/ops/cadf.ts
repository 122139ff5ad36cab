// Records of the history as events of CADF (DMTF DSP0262), the format of OpenStack's audit
// middleware, with its names of resources and its attributes of HTTP calls.

import type { recordAnswer } from '#core/contracts/api/history.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Answer } from './answers.ts';

type HistoryRecord = Answer<typeof recordAnswer, 'id' | 'at' | 'kind'>;

const account = 'service/security/account/user';

/** The last part of a kind of record → the action of CADF that it refines. */
const actions: Readonly<Record<string, string>> = {
  created: 'create',
  added: 'create',
  deleted: 'delete',
  removed: 'delete',
  gone: 'delete',
  forgotten: 'delete',
  programmed: 'deploy',
  reinstated: 'restore',
  booted: 'start',
  connected: 'start',
  disconnected: 'stop',
};

const actionsOfMethods: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
};

export function cadfEvent(record: HistoryRecord): Readonly<Record<string, unknown>> {
  const { call, reason } = record;
  return {
    typeURI: 'http://schemas.dmtf.org/cloud/audit/1.0/event',
    eventType: 'activity',
    id: record.id,
    eventTime: record.at.replace(/Z$/, '+0000'),
    action: toAction(record),
    outcome: isFailure(record) ? 'failure' : 'success',
    initiator: toInitiator(record),
    target: toTarget(record),
    observer: { typeURI: 'service/accelerator', id: 'accelerator', name: 'cyborg' },
    ...(call && { requestPath: call.path }),
    ...((call || reason) && {
      reason: {
        reasonType: call ? 'HTTP' : 'service/accelerator',
        reasonCode: call ? String(call.status) : record.kind,
        ...(reason && { reasonDescription: reason }),
      },
    }),
    // CADF has no attributes for the other fields.
    attachments: [{ name: 'record', typeURI: 'application/json', content: record }],
  };
}

function isFailure({ kind, to }: HistoryRecord): boolean {
  if (/^(region|device)\.programmed$/.test(kind)) return to === 'failed';
  return /^(call\.(refused|failed)|bind\.failed)$/.test(kind);
}

function toAction({ kind, call }: HistoryRecord): string {
  if (call) return `${actionsOfMethods[call.method ?? ''] ?? 'unknown'}/${call.rule}`;
  const [, event = ''] = kind.split('.');
  return `${actions[event] ?? 'update'}/${kind}`;
}

/** The audit middleware names the project and the request of a user, too. */
function toInitiator({ by, call, request_id: request }: HistoryRecord) {
  const user = by?.startsWith('user:') ? by.slice('user:'.length) : undefined;
  return {
    typeURI: user === undefined ? 'service/accelerator' : account,
    id: user ?? by ?? 'unknown',
    ...(call && { project_id: call.project_id, roles: call.roles }),
    ...present({ request_id: request ?? undefined }),
  };
}

function toTarget(record: HistoryRecord) {
  const { kind, call, arq_uuids: arqs, hostname } = record;
  const [subject = ''] = kind.split('.');
  if (call) {
    const [, resource = '', id] = /\/v[12]\/([a-z_]+)(?:\/([^/?]+))?/.exec(call.path ?? '') ?? [];
    return { typeURI: `service/accelerator/${resource}`, id: id ?? resource };
  }
  const ids: Readonly<Record<string, string | null | undefined>> = {
    arq: arqs?.[0],
    bind: record.instance_uuid,
    device: record.device_uuid,
    handle: record.attach_handle_uuid,
    host: hostname,
    profile: record.device_profile_name,
    region: record.device_uuid,
  };
  return { typeURI: `service/accelerator/${subject}`, id: ids[subject] ?? 'unknown' };
}
