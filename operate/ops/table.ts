// The table of verbs, in the order of the help, and the options that many verbs have.

import { completionScripts, type Shell } from './completion-scripts.ts';
import type { LocalVerb, Options, Verb } from './verb.ts';
import { capacityVerb } from './verbs/capacity.ts';
import { deviceVerbs } from './verbs/devices.ts';
import { hostVerbs, maintenanceVerbs } from './verbs/hosts.ts';
import { keystoneVerbs } from './verbs/keystone.ts';
import { listVerbs } from './verbs/lists.ts';
import { quotaVerbs } from './verbs/quotas.ts';
import { reapVerb } from './verbs/reap.ts';
import { stackVerbs } from './verbs/stack.ts';

const completion: LocalVerb = {
  path: ['completion'],
  summary: 'prints the completion for a shell',
  arguments: [{ name: 'shell', help: 'bash or zsh', choices: Object.keys(completionScripts) }],
  options: {},
  example: 'cyborg-ops completion bash',
  print: (input) => completionScripts[input.argument('shell') as Shell],
};

export const table: readonly Verb[] = [
  ...listVerbs,
  ...hostVerbs,
  ...deviceVerbs,
  capacityVerb,
  ...quotaVerbs,
  ...maintenanceVerbs,
  reapVerb,
  ...keystoneVerbs,
  ...stackVerbs,
  completion,
];

export function verbsOf(resource: string, of: readonly Verb[]): readonly Verb[] {
  return of.filter(({ path }) => path[0] === resource);
}

export const outputOptions: Options = {
  json: { type: 'boolean', help: "the API's answer as one JSON document" },
};

/** Options of each verb that signs in. Secrets come by variables and files only. */
export const connectionOptions: Options = {
  'os-cloud': { type: 'string', value: 'name', help: 'the cloud in clouds.yaml; OS_CLOUD' },
  'os-auth-url': { type: 'string', value: 'url', help: "Keystone's URL; OS_AUTH_URL" },
  'os-username': { type: 'string', value: 'name', help: 'OS_USERNAME' },
  'os-project-name': { type: 'string', value: 'name', help: 'OS_PROJECT_NAME' },
  'os-project-id': { type: 'string', value: 'id', help: 'OS_PROJECT_ID' },
  'os-user-domain-name': { type: 'string', value: 'name', help: 'OS_USER_DOMAIN_NAME' },
  'os-project-domain-name': { type: 'string', value: 'name', help: 'OS_PROJECT_DOMAIN_NAME' },
  'os-region-name': { type: 'string', value: 'name', help: 'OS_REGION_NAME' },
  'os-interface': {
    type: 'string',
    value: 'interface',
    choices: ['public', 'internal', 'admin'],
    help: 'OS_INTERFACE',
  },
  'os-cacert': {
    type: 'string',
    value: 'file',
    help: "PEM file of the cloud's authorities; OS_CACERT",
  },
  endpoint: {
    type: 'string',
    value: 'url',
    help: "the accelerator service's URL instead of the catalog's; OS_ACCELERATOR_ENDPOINT_OVERRIDE",
  },
};
