// The commands that work on the stack itself, not on its API. They are loaded when called, since
// they bring AWS's clients.

import { installedAt } from '#operate/enrol/host-folder.ts';
import { flag, optionOf, repeated, required } from '#operate/ops/arguments/options.ts';
import type { Argument, Options, StackVerb } from '#operate/ops/verb.ts';

const host: Argument = { name: 'host', help: "the compute node's name in Nova" };
const environment: Options = {
  environment: optionOf(
    'file',
    'the settings of a function, as JSON; without it they come from the environment',
  ),
};
const apply = flag('write; without it, what would be written is shown');
const json = flag('the plan as JSON');

const stage: Options = { stage: required('stage', 'the stage of the stack') };
const settings = 'JSON with what the host may offer, at least "drivers"; see docs/agent.md';
const folderOptions: Options = {
  ...stage,
  out: required('folder', 'the folder to write'),
  csr: optionOf('file', 'the request of `cyborg-agent key`; the folder then has no key'),
  'drivers-dir': optionOf('folder', "the operator's drivers (*.mjs), if the settings name one"),
  port: optionOf('port', '8883, or 443 where nothing else gets out'),
  ca: optionOf('file', "PEM file of the broker's authorities, if it is not AWS's"),
  at: optionOf('folder', `where the folder will be on the host; ${installedAt}`),
  images: optionOf('url', "where the stage's images are: the stack's output ImageSource"),
};
type EnrolVerb = keyof typeof import('#operate/commands/enrol.ts')['enrol'];
const enrol = (verb: EnrolVerb) => ({
  load: async () => (await import('#operate/commands/enrol.ts')).enrol[verb],
});

export const stackVerbs: readonly StackVerb[] = [
  {
    path: ['doctor'],
    summary: 'checks a deployed stack, changes nothing, and exits with 1 if something is wrong',
    options: { ...environment, url: optionOf('url', "the API, if it differs from the catalog's") },
    example: 'cyborg-ops doctor --environment prod.json',
    load: async () => (await import('#operate/commands/doctor.ts')).doctor,
  },
  {
    path: ['enrol', 'add'],
    summary: `a new host: writes its folder for ${installedAt}`,
    arguments: [host],
    options: { ...folderOptions, settings: required('file', settings) },
    example:
      'cyborg-ops enrol add cmp1.example --stage prod --settings settings.json --out cmp1.example',
    ...enrol('add'),
  },
  {
    path: ['enrol', 'rotate'],
    summary: 'another certificate, beside the old one',
    arguments: [host],
    options: { ...folderOptions, settings: optionOf('file', settings) },
    example: 'cyborg-ops enrol rotate cmp1.example --stage prod --out cmp1.example',
    ...enrol('rotate'),
  },
  {
    path: ['enrol', 'retire'],
    summary: 'removes the old certificates',
    arguments: [host],
    options: {
      ...stage,
      keep: optionOf(
        'certificate',
        'the certificate to keep, if it is not the one the host connects with',
      ),
    },
    example: 'cyborg-ops enrol retire cmp1.example --stage prod',
    ...enrol('retire'),
  },
  {
    path: ['enrol', 'revoke'],
    summary: 'ends all certificates of a host: it or its key is lost',
    arguments: [host],
    options: stage,
    example: 'cyborg-ops enrol revoke cmp1.example --stage prod',
    ...enrol('revoke'),
  },
  {
    path: ['enrol', 'remove'],
    summary: 'removes the identity of a host that is gone for good',
    arguments: [{ ...host, isOptional: true }],
    options: { ...stage, all: flag('all hosts, before the stack is removed') },
    example: 'cyborg-ops enrol remove cmp1.example --stage prod',
    ...enrol('remove'),
  },
  {
    path: ['enrol', 'list'],
    summary: 'hosts and their certificates',
    options: stage,
    example: 'cyborg-ops enrol list --stage prod',
    ...enrol('list'),
  },
  {
    path: ['reconcile'],
    summary: "compares DynamoDB, Placement and hosts' last reports; exits with 1 if they differ",
    arguments: [{ ...host, isRepeated: true }],
    options: { repair: flag('makes Placement hold what is stored'), ...environment },
    example: 'cyborg-ops reconcile cmp1.example --environment prod.json',
    load: async () => (await import('#operate/commands/reconcile.ts')).reconcile,
  },
  {
    path: ['restore'],
    summary: 'restores the tables from a backup',
    options: {
      ...stage,
      suffix: optionOf('suffix', "of the restored tables' names: restored, for prod-arqs-restored"),
      moment: optionOf('time', 'to which they were restored, such as 2026-11-20T13:00:00Z'),
      'without-backup': flag(
        'the rows are lost: withholds every handle that hosts report, until Placement has no allocation of an unknown instance',
      ),
      apply,
    },
    example: 'cyborg-ops restore --stage prod --suffix restored --moment 2026-11-20T13:00:00Z',
    load: async () => (await import('#operate/commands/restore.ts')).restore,
  },
  {
    path: ['profiles', 'migrate'],
    summary: 'gives traits, resource classes and properties in device profiles their new names',
    options: {
      rename: repeated('key=new', 'trait:OLD=NEW, resources:OLD=NEW, or accel:KEY:VALUE=TRAIT'),
      drop: repeated('key', 'trait:OLD, which no group is to have'),
      apply,
      ...environment,
    },
    example:
      'cyborg-ops profiles migrate --rename trait:CUSTOM_OLD=CUSTOM_NEW --environment prod.json',
    load: async () => (await import('#operate/commands/profiles.ts')).profiles,
  },
  {
    path: ['import', 'cyborg'],
    summary: 'takes over the profiles, devices and running servers of a Cyborg',
    options: {
      tables: required('file', "Cyborg's tables: mysql --xml prints them for `import queries`"),
      skip: repeated('name', 'leaves out a refused row, by its name'),
      apply,
      json,
      ...environment,
    },
    example: 'cyborg-ops import cyborg --tables cyborg.xml --environment prod.json',
    load: async () => (await import('#operate/commands/import.ts')).importCyborg,
  },
  {
    path: ['import', 'nova-pci'],
    summary: "moves a compute node's PCI passthrough and vGPUs from Nova",
    options: {
      conf: { ...repeated('file', 'nova.conf of the compute node'), isRequired: true },
      flavors: optionOf('file', 'output of openstack flavor list --long --all -f json'),
      'attach-mdev': flag('Nova on this host attaches mdevs of accelerator requests'),
      'mdev-trait': optionOf(
        'trait=type',
        "a trait of Nova's vGPUs, and its mdev type; repeatable",
      ),
      suffix: optionOf('text', 'of the names of changed copies of flavors; -accel'),
      skip: repeated('name', 'leaves out a refused row, by its name'),
      'settings-out': optionOf('file', "writes the agent's settings to a new file, with --apply"),
      apply,
      json,
      ...environment,
    },
    example: 'cyborg-ops import nova-pci --conf nova.conf --flavors flavors.json',
    load: async () => (await import('#operate/commands/import-nova-pci.ts')).importNovaPci,
  },
  {
    path: ['import', 'queries'],
    summary: 'the SQL statements whose answers are imported',
    example: 'cyborg-ops import queries',
    load: async () => (await import('#operate/commands/import.ts')).importQueries,
  },
  {
    path: ['export'],
    summary: "SQL that brings Cyborg's tables to what servers have now",
    arguments: [{ name: 'cyborg', help: 'the service to go back to', choices: ['cyborg'] }],
    options: { tables: required('file', 'the file that was imported'), ...environment },
    example: 'cyborg-ops export cyborg --tables cyborg.xml --environment prod.json',
    load: async () => (await import('#operate/commands/export.ts')).exportCyborg,
  },
  {
    path: ['cost'],
    summary: 'the price of servers and of idle hosts, in US dollars',
    example: 'cyborg-ops cost',
    load: async () => (await import('#infra/cost/main.ts')).cost,
  },
  {
    path: ['scale'],
    summary: '10,000 hosts and 50 binds a second against the limits of AWS',
    example: 'cyborg-ops scale',
    load: async () => (await import('#simulation/scale/main.ts')).scale,
  },
];
