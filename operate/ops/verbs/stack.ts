// The commands that work on the stack itself, not on its API. Each parses its own words; its
// options are here for completion. They are loaded when called, since they bring AWS's clients.

import { installedAt } from '#operate/enrol/host-folder.ts';
import type { Argument, Options, StackVerb } from '#operate/ops/verb.ts';

const host: Argument = { name: 'host', help: "the compute node's name in Nova" };
const value = (name: string, help: string): Options[string] => ({
  type: 'string',
  value: name,
  help,
});
const environment: Options = {
  environment: value(
    'file',
    'the settings of a function, as JSON; without it they come from the environment',
  ),
};

const enrolUsage = `cyborg-ops enrol <verb> --stage <stage> ...

add <host> --out <folder> --settings <file>  a new host: writes its folder for ${installedAt}
rotate <host> --out <folder>                 another certificate, beside the old one
retire <host> [--keep <certificate>]         removes the old certificates
revoke <host>                                the host or its key is lost
remove <host>                                the host is gone for good
remove --all                                 all hosts, before the stack is removed
list                                         hosts and their certificates

<host>      the compute node's name in Nova
--settings  JSON with what the host may offer, at least "drivers"; see docs/agent.md
--drivers-dir  folder with the operator's drivers (*.mjs), if the settings name one of them
--port      8883, or 443 where nothing else gets out
--ca        PEM file of the broker's authorities, if it is not AWS's
--at        where the folder will be on the host; ${installedAt}
--images    URL below which the stage's images are: the stack's output ImageSource
--keep      the certificate to keep, where it is not the one the host connects with`;

const stage: Options = { stage: value('stage', 'the stage of the stack') };
const folderOptions: Options = {
  ...stage,
  out: value('folder', 'the folder to write'),
  settings: value('file', 'JSON with what the host may offer'),
  'drivers-dir': value('folder', "the operator's drivers"),
  port: value('port', '8883, or 443'),
  ca: value('file', "the broker's authorities"),
  at: value('folder', 'where the folder will be on the host'),
  images: value('url', "where the stage's images are"),
};
const enrol = { usage: enrolUsage, load: async () => (await import('#operate/enrol.ts')).enrol };

const importing = {
  usage: `cyborg-ops import cyborg --tables <file> [--skip <name>] [--apply] [--json] [--environment <file>]
cyborg-ops import queries
cyborg-ops import nova-pci --conf <file> ... [--flavors <file>] [--attach-mdev]
    [--mdev-trait <trait>=<type> ...] [--suffix <text>] [--skip <name>] [--apply]
    [--settings-out <file>] [--json] [--environment <file>]

Shows what of a Cyborg, or of Nova's PCI passthrough and vGPUs of a compute node, this stack would
take over, and exits with 1 if something is refused.

queries        prints the SQL statements; their answers are the file
--tables       what "mysql --xml" prints for these statements
--conf         nova.conf of the compute node; repeatable, as nova-compute's --config-file
--flavors      what "openstack flavor list --long --all -f json" prints
--attach-mdev  Nova on this host attaches mdevs of accelerator requests
--mdev-trait   a trait of Nova's providers of vGPUs, and the mdev type that has it; repeatable
--suffix       of the names of changed copies of flavors; -accel
--settings-out writes the agent's settings, with --apply; a file that exists is not replaced
--skip         leaves out what is refused, by its name; repeatable
--apply        write; without it, the plan is shown
--json         the plan as JSON
--environment  the settings of a function, as JSON; without it they come from the environment`,
  load: async () => (await import('#operate/import.ts')).importCyborg,
};

export const stackVerbs: readonly StackVerb[] = [
  {
    path: ['doctor'],
    summary: 'checks a deployed stack: what is wrong, and what to do',
    arguments: [],
    options: { ...environment, url: value('url', "the API, if it differs from the catalog's") },
    example: 'cyborg-ops doctor --environment prod.json',
    usage: `cyborg-ops doctor [--environment <file>] [--url <API>]

Looks at a deployed stack, changes nothing, and exits with 1 if something is wrong.

--environment  the settings of a function, as JSON; without it they come from the environment
--url          the API, if it differs from the one in Keystone's catalog`,
    load: async () => (await import('#operate/doctor.ts')).doctor,
  },
  {
    path: ['enrol', 'add'],
    summary: 'identity and settings of a new host at AWS IoT',
    arguments: [host],
    options: folderOptions,
    example:
      'cyborg-ops enrol add cmp1.example --stage prod --settings settings.json --out cmp1.example',
    ...enrol,
  },
  {
    path: ['enrol', 'rotate'],
    summary: 'another certificate, beside the old one',
    arguments: [host],
    options: folderOptions,
    example: 'cyborg-ops enrol rotate cmp1.example --stage prod --out cmp1.example',
    ...enrol,
  },
  {
    path: ['enrol', 'retire'],
    summary: 'removes the old certificates',
    arguments: [host],
    options: { ...stage, keep: value('certificate', 'the certificate to keep') },
    example: 'cyborg-ops enrol retire cmp1.example --stage prod',
    ...enrol,
  },
  {
    path: ['enrol', 'revoke'],
    summary: 'ends all certificates of a host: it or its key is lost',
    arguments: [host],
    options: stage,
    example: 'cyborg-ops enrol revoke cmp1.example --stage prod',
    ...enrol,
  },
  {
    path: ['enrol', 'remove'],
    summary: 'removes the identity of a host that is gone for good',
    arguments: [host],
    options: { ...stage, all: { type: 'boolean', help: 'all hosts' } },
    example: 'cyborg-ops enrol remove cmp1.example --stage prod',
    ...enrol,
  },
  {
    path: ['enrol', 'list'],
    summary: 'hosts and their certificates',
    arguments: [],
    options: stage,
    example: 'cyborg-ops enrol list --stage prod',
    ...enrol,
  },
  {
    path: ['reconcile'],
    summary: 'compares DynamoDB, Placement and hosts, and repairs Placement',
    arguments: [{ ...host, isRepeated: true }],
    options: {
      repair: { type: 'boolean', help: 'makes Placement hold what is stored' },
      ...environment,
    },
    example: 'cyborg-ops reconcile cmp1.example --environment prod.json',
    usage: `cyborg-ops reconcile <host> ... [--repair] [--environment <file>]

Compares DynamoDB, Placement and the hosts' last reports, and exits with 1 if they differ.

--repair       makes Placement hold what is stored
--environment  the settings of a function, as JSON; without it they come from the environment`,
    load: async () => (await import('#operate/reconcile.ts')).reconcile,
  },
  {
    path: ['settle'],
    summary: 'ends a conflict of two agents with one identity',
    arguments: [host],
    options: { boot: value('boot id', "the host's own boot"), ...environment },
    example: 'cyborg-ops settle cmp1.example --environment prod.json',
    usage: `cyborg-ops settle <host> [--boot <boot id>] [--environment <file>]

Ends a conflict of identity: two agents have reported as this host.

--boot         the host's own boot; without it, the boots that have reported are listed
--environment  the settings of a function, as JSON; without it they come from the environment`,
    load: async () => (await import('#operate/settle.ts')).settle,
  },
  {
    path: ['restore'],
    summary: 'restores the tables from a backup',
    arguments: [],
    options: {
      ...stage,
      suffix: value('suffix', "suffix of the restored tables' names"),
      moment: value('time', 'to which they were restored'),
      'without-backup': { type: 'boolean', help: 'the rows are lost: withhold every handle' },
      apply: { type: 'boolean', help: 'write; without it, what would be written is counted' },
    },
    example: 'cyborg-ops restore --stage prod --suffix restored --moment 2026-11-20T13:00:00Z',
    usage: `cyborg-ops restore --stage <stage> --suffix <suffix> --moment <ISO time> [--apply]
cyborg-ops restore --stage <stage> --without-backup [--apply]

<suffix>    suffix of the restored tables' names: restored, for prod-arqs-restored
<ISO time>  to which they were restored, such as 2026-11-20T13:00:00Z
--without-backup  the rows are lost: withholds every handle that hosts report,
            until Placement has no allocation of an instance that is not known
--apply     write; without it, what would be written is counted`,
    load: async () => (await import('#operate/restore.ts')).restore,
  },
  {
    path: ['profiles', 'migrate'],
    summary: 'gives traits and resource classes in device profiles their new names',
    arguments: [],
    options: {
      rename: value('key=new', 'trait:OLD=NEW or resources:OLD=NEW; may be given several times'),
      apply: { type: 'boolean', help: 'write; without it, what would change is shown' },
      ...environment,
    },
    example:
      'cyborg-ops profiles migrate --rename trait:CUSTOM_OLD=CUSTOM_NEW --environment prod.json',
    usage: `cyborg-ops profiles migrate --rename <key>=<new> ... [--apply] [--environment <file>]

Renames traits and resource classes in stored device profiles.

--rename       trait:OLD=NEW or resources:OLD=NEW; may be given several times
--apply        write; without it, what would change is shown
--environment  the settings of a function, as JSON; without it they come from the environment`,
    load: async () => (await import('#operate/profiles.ts')).profiles,
  },
  {
    path: ['import', 'cyborg'],
    summary: 'takes over the profiles, devices and running servers of a Cyborg',
    arguments: [],
    options: {
      tables: value('file', "Cyborg's tables, as mysql --xml prints them"),
      skip: value('name', 'what to leave out of the import; repeatable'),
      apply: { type: 'boolean', help: 'write; without it, the plan is shown' },
      json: { type: 'boolean', help: 'the plan as JSON' },
      ...environment,
    },
    example: 'cyborg-ops import cyborg --tables cyborg.xml --environment prod.json',
    ...importing,
  },
  {
    path: ['import', 'nova-pci'],
    summary: "moves a compute node's PCI passthrough and vGPUs from Nova",
    arguments: [],
    options: {
      conf: value('file', 'nova.conf of the compute node; repeatable'),
      flavors: value('file', 'what openstack flavor list --long --all -f json prints'),
      'attach-mdev': { type: 'boolean', help: 'Nova attaches mdevs of accelerator requests' },
      'mdev-trait': value('trait=type', 'the mdev type that has a trait; repeatable'),
      suffix: value('text', 'of the names of changed copies of flavors; -accel'),
      skip: value('name', 'what to leave out; repeatable'),
      'settings-out': value('file', "writes the agent's settings, with --apply"),
      apply: { type: 'boolean', help: 'create the profiles; without it, the plan is shown' },
      json: { type: 'boolean', help: 'the plan as JSON' },
      ...environment,
    },
    example: 'cyborg-ops import nova-pci --conf nova.conf --flavors flavors.json',
    ...importing,
  },
  {
    path: ['import', 'queries'],
    summary: 'the SQL statements whose answers are imported',
    arguments: [],
    options: {},
    example: 'cyborg-ops import queries',
    ...importing,
  },
  {
    path: ['export'],
    summary: "SQL that brings Cyborg's tables to what servers have now",
    arguments: [{ name: 'cyborg', help: 'the service to go back to', choices: ['cyborg'] }],
    options: { tables: value('file', "Cyborg's tables of the import"), ...environment },
    example: 'cyborg-ops export cyborg --tables cyborg.xml --environment prod.json',
    usage: `cyborg-ops export cyborg --tables <file> [--environment <file>]

Prints the SQL statements that bring Cyborg's tables, from the time of the import, to what servers have now.
It changes nothing.

--tables       the file that was imported
--environment  the settings of a function, as JSON; without it they come from the environment`,
    load: async () => (await import('#operate/export.ts')).exportCyborg,
  },
  {
    path: ['cost'],
    summary: 'the price of servers and of idle hosts, in US dollars',
    arguments: [],
    options: {},
    example: 'cyborg-ops cost',
    usage: `cyborg-ops cost    the price of servers and of idle hosts, in US dollars`,
    load: async () => (await import('#infra/cost/main.ts')).cost,
  },
  {
    path: ['scale'],
    summary: '10,000 hosts and 50 binds a second against the limits of AWS',
    arguments: [],
    options: {},
    example: 'cyborg-ops scale',
    usage: `cyborg-ops scale    10,000 hosts and 50 binds a second against the limits of AWS`,
    load: async () => (await import('#simulation/scale/main.ts')).scale,
  },
];
