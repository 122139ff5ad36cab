// Devices, by Cyborg's own API.

import * as z from 'zod';
import { deviceTitles } from '#core/contracts/api/titles.ts';
import { columnsOf } from '#operate/ops/columns.ts';
import type { ApiVerb, Argument, Given } from '#operate/ops/verb.ts';
import {
  counted,
  limitOption,
  optionOf,
  shownDone,
  shownOne,
  shownRows,
  shownStatus,
} from './shown.ts';

const device = z.looseObject({
  uuid: z.string(),
  type: z.string(),
  vendor: z.string().nullish(),
  model: z.string().nullish(),
  hostname: z.string(),
  status: z.string().nullish(),
  reason: z.string().nullish(),
});
type Device = z.infer<typeof device>;

const every = columnsOf<keyof typeof deviceTitles, Device>(deviceTitles, {
  uuid: { isWhole: true },
  hostname: { isWhole: true },
  status: { of: (row) => shownStatus(row.status) },
});
const { uuid, hostname, type, vendor, model, status, reason } = every;
const listed = [uuid, hostname, type, vendor, model, status, reason];

const oneDevice: Argument = { name: 'device', help: "the device's uuid" };
const pathOf = (given: Given) => `/v2/devices/${encodeURIComponent(given.argument('device'))}`;

const freed = z.looseObject({ attach_handles: z.array(z.string()), cleaning: z.array(z.string()) });

function setStatus(value: 'enabled' | 'maintaining', sentence: string): ApiVerb['ask'] {
  return async (api, given) => {
    const reason = given.text('reason');
    const change = { op: 'replace', path: '/status', value, ...(reason && { reason }) };
    const answer = await api.ask('PATCH', pathOf(given), z.unknown(), { body: [change] });
    return shownDone(`${given.argument('device')} ${sentence}`, answer);
  };
}

export const deviceVerbs: readonly ApiVerb[] = [
  {
    path: ['devices', 'list'],
    summary: 'devices and their status',
    arguments: [],
    options: {
      host: optionOf('host', 'only devices of this host'),
      type: optionOf('type', 'only devices of this type, such as GPU or FPGA'),
      vendor: optionOf('id', 'only devices of this vendor, such as 10de'),
      ...limitOption,
    },
    example: 'cyborg-ops devices list --host cmp1.example --type GPU',
    async ask(api, given) {
      const query = {
        hostname: given.text('host'),
        type: given.text('type'),
        vendor: given.text('vendor'),
      };
      const listing = { query, limit: given.text('limit') };
      const rows = await api.list('/v2/devices', 'devices', device, listing);
      return shownRows('devices', listed, rows);
    },
  },
  {
    path: ['devices', 'show'],
    summary: 'a device',
    arguments: [oneDevice],
    options: {},
    example: 'cyborg-ops devices show 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11',
    ask: async (api, given) =>
      shownOne(Object.values(every), await api.ask('GET', pathOf(given), device)),
  },
  {
    path: ['devices', 'disable'],
    summary: 'no new binds of the device; what is bound stays',
    arguments: [oneDevice],
    options: { reason: optionOf('text', 'why; operators see it at the device') },
    example:
      "cyborg-ops devices disable 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --reason 'fan is loud'",
    ask: setStatus('maintaining', 'is disabled: no new binds; what is bound stays.'),
  },
  {
    path: ['devices', 'enable'],
    summary: 'new binds of the device again',
    arguments: [oneDevice],
    options: {},
    example: 'cyborg-ops devices enable 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11',
    ask: setStatus('enabled', 'is enabled.'),
  },
  {
    path: ['devices', 'force-release'],
    summary: 'returns handles in quarantine to the pool',
    arguments: [oneDevice],
    options: {
      reason: optionOf('text', 'why; it is recorded'),
      cleaned: {
        type: 'boolean',
        help: 'an operator has cleaned the device: free it without its host',
      },
    },
    example:
      "cyborg-ops devices force-release 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --reason 'card was replaced' --cleaned",
    async ask(api, given) {
      const reason = given.text('reason');
      const body = { ...(reason && { reason }), ...(given.has('cleaned') && { cleaned: true }) };
      const answer = await api.ask('POST', `${pathOf(given)}/force_release`, freed, { body });
      const { attach_handles: free, cleaning } = answer;
      const later = `${counted(cleaning.length, 'handle')} free once the host has cleaned`;
      const parts = [
        ...(free.length > 0 ? [`${counted(free.length, 'handle')} free now`] : []),
        ...(cleaning.length > 0 ? [later] : []),
      ];
      const sentence = parts.join(', ') || 'no handle was in quarantine';
      return shownDone(`${given.argument('device')}: ${sentence}.`, answer);
    },
  },
];
