// Devices, by Cyborg's own API.

import * as z from 'zod';
import { freedAnswer, grantsAnswer, resetAnswer } from '#core/contracts/api/devices.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Input } from '#operate/command.ts';
import { answer } from '#operate/ops/answers.ts';
import {
  flag,
  optionOf,
  projectOption,
  required,
  storedId,
} from '#operate/ops/arguments/options.ts';
import { counted, shownDone, shownOne } from '#operate/ops/output/shown.ts';
import type { ApiVerb, Argument } from '#operate/ops/verb.ts';
import { listColumns, rowAnswer } from './lists/list-columns.ts';

const grants = answer(grantsAnswer, 'grants');
const operatorsPath = (input: Input, verb: 'grant' | 'revoke' | 'reset') =>
  `/operator/v1/devices/${encodeURIComponent(input.argument('device'))}/${verb}`;
const freed = answer(freedAnswer, 'attach_handles', 'cleaning');
const reset = answer(resetAnswer, 'cleaning');
const oneDevice: Argument = { name: 'device', help: "the device's uuid" };
const pathOf = (input: Input) => `/v2/devices/${encodeURIComponent(input.argument('device'))}`;

function setStatus(value: 'enabled' | 'maintaining', sentence: string): ApiVerb['ask'] {
  return async (api, input) => {
    const reason = input.text('reason');
    const change = { op: 'replace', path: '/status', value, ...present({ reason }) };
    const answer = await api.ask('PATCH', pathOf(input), z.unknown(), { body: [change] });
    return shownDone(`${input.argument('device')} ${sentence}`, answer);
  };
}

export const deviceVerbs: readonly ApiVerb[] = [
  {
    path: ['devices', 'show'],
    summary: 'a device',
    arguments: [oneDevice],
    example: 'cyborg-ops devices show 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11',
    ask: async (api, input) =>
      shownOne(listColumns('devices'), await api.ask('GET', pathOf(input), rowAnswer('devices'))),
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
    example: 'cyborg-ops devices enable 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11',
    ask: setStatus('enabled', 'is enabled.'),
  },
  {
    path: ['devices', 'force-release'],
    summary: 'returns handles in quarantine to the pool, or gives up a waiting program',
    arguments: [oneDevice],
    options: {
      reason: optionOf('text', 'why; it is recorded'),
      cleaned: flag('an operator has cleaned the device: free it without its host'),
    },
    example:
      "cyborg-ops devices force-release 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --reason 'card was replaced' --cleaned",
    async ask(api, input) {
      const reason = input.text('reason');
      const body = present({ reason, cleaned: input.has('cleaned') || undefined });
      const answer = await api.ask('POST', `${pathOf(input)}/force_release`, freed, { body });
      const { attach_handles: free, cleaning } = answer;
      const later = `${counted(cleaning.length, 'handle')} free once the host has cleaned`;
      const parts = [
        ...(free.length > 0 ? [`${counted(free.length, 'handle')} free now`] : []),
        ...(cleaning.length > 0 ? [later] : []),
      ];
      const sentence =
        parts.join(', ') ||
        'no handle freed: none is in quarantine, or the host does not clean them';
      return shownDone(`${input.argument('device')}: ${sentence}.`, answer);
    },
  },
  {
    path: ['devices', 'reset'],
    summary: 'has the host reset a device that no server has, as after a server',
    arguments: [oneDevice],
    options: { reason: optionOf('text', 'why; the log keeps it') },
    example:
      "cyborg-ops devices reset 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --reason 'its ECC counters grow'",
    async ask(api, input) {
      const body = present({ reason: input.text('reason') });
      const answer = await api.ask('POST', operatorsPath(input, 'reset'), reset, { body });
      const handles = counted(answer.cleaning.length, 'handle');
      const sentence = `is being reset: ${handles} free once the host has cleaned.`;
      return shownDone(`${input.argument('device')} ${sentence}`, answer);
    },
  },
  {
    path: ['devices', 'grant'],
    summary: 'lets a project program the device: its regions, shell and firmware',
    arguments: [oneDevice],
    options: {
      project: projectOption(required('project', "the project's name or id")),
      until: {
        ...required('time', 'when the right ends: 2030-12-01T06:00:00Z, or 4h for in four hours'),
        reads: 'time-after',
      },
    },
    example:
      'cyborg-ops devices grant 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --project 7a1f0c9e6f5b4d0f8a52 --until 4h',
    async ask(api, input) {
      const [project, until] = [input.required('project'), input.required('until')];
      const body = { project_id: project, until };
      const answer = await api.ask('POST', operatorsPath(input, 'grant'), grants, { body });
      const sentence = `project ${project} may program it until ${until}.`;
      return shownDone(`${input.argument('device')}: ${sentence}`, answer);
    },
  },
  {
    path: ['devices', 'revoke'],
    summary: 'ends the right of a project to program the device',
    arguments: [oneDevice],
    options: {
      project: projectOption(required('project', "the project's name or id")),
      ...storedId,
    },
    example:
      'cyborg-ops devices revoke 2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11 --project 7a1f0c9e6f5b4d0f8a52',
    async ask(api, input) {
      const project = input.required('project');
      const body = { project_id: project };
      const answer = await api.ask('POST', operatorsPath(input, 'revoke'), grants, { body });
      const sentence = `project ${project} may not program it.`;
      return shownDone(`${input.argument('device')}: ${sentence}`, answer);
    },
  },
];
