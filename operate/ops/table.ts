// The table of verbs, in the order of the help, and the options that many verbs have.

import { completionScripts, type Shell } from './arguments/completion-scripts.ts';
import { flag, optionOf, repeated } from './arguments/options.ts';
import { formats } from './output/formats.ts';
import type { LocalVerb, Options, Verb } from './verb.ts';
import { capacityVerb } from './verbs/capacity.ts';
import { deviceVerbs } from './verbs/devices.ts';
import { firmwareVerbs } from './verbs/firmware/program.ts';
import { rollVerb } from './verbs/firmware/roll-verb.ts';
import { metricsVerb } from './verbs/fleet/metrics.ts';
import { reportVerb } from './verbs/fleet/report.ts';
import { holdVerbs } from './verbs/holds.ts';
import { hostVerbs, maintenanceVerbs } from './verbs/hosts.ts';
import { keystoneVerbs } from './verbs/keystone.ts';
import { explainVerb } from './verbs/lists/explain.ts';
import { listVerbs } from './verbs/lists/lists.ts';
import { topVerb } from './verbs/lists/top.ts';
import { profileVerbs } from './verbs/profiles.ts';
import { quotaVerbs } from './verbs/quotas.ts';
import { reapVerb } from './verbs/reap.ts';
import { stackVerbs } from './verbs/stack.ts';

const completion: LocalVerb = {
  path: ['completion'],
  summary: 'prints the completion for a shell',
  arguments: [{ name: 'shell', help: 'bash or zsh', choices: Object.keys(completionScripts) }],
  example: 'cyborg-ops completion bash',
  print: (input) => completionScripts[input.argument('shell') as Shell],
};

export const table: readonly Verb[] = [
  ...listVerbs,
  explainVerb,
  topVerb,
  ...hostVerbs,
  ...deviceVerbs,
  ...holdVerbs,
  ...firmwareVerbs,
  rollVerb,
  capacityVerb,
  metricsVerb,
  reportVerb,
  ...quotaVerbs,
  ...profileVerbs,
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
  format: { ...optionOf('format', 'of the result'), short: 'f', choices: formats },
  column: {
    ...repeated('title', 'only this column, also one that a table leaves out'),
    short: 'c',
  },
  wide: flag('all columns'),
  json: { type: 'boolean', help: 'the same as --format json' },
};

/** Options of each verb that signs in. Secrets come by variables and files only. */
export const connectionOptions: Options = {
  'os-cloud': optionOf('name', 'the cloud in clouds.yaml; OS_CLOUD'),
  'os-auth-url': optionOf('url', "Keystone's URL; OS_AUTH_URL"),
  'os-username': optionOf('name', 'OS_USERNAME'),
  'os-project-name': optionOf('name', 'OS_PROJECT_NAME'),
  'os-project-id': optionOf('id', 'OS_PROJECT_ID'),
  'os-user-domain-name': optionOf('name', 'OS_USER_DOMAIN_NAME'),
  'os-project-domain-name': optionOf('name', 'OS_PROJECT_DOMAIN_NAME'),
  'os-region-name': optionOf('name', 'OS_REGION_NAME'),
  'os-interface': {
    ...optionOf('interface', 'OS_INTERFACE'),
    choices: ['public', 'internal', 'admin'],
  },
  'os-cacert': optionOf('file', "PEM file of the cloud's authorities; OS_CACERT"),
  endpoint: optionOf(
    'url',
    "the accelerator service's URL instead of the catalog's; OS_ACCELERATOR_ENDPOINT_OVERRIDE",
  ),
};
