// The deployment's entries in Keystone: its service user, and the API in the catalog.

import type { Column } from '#core/command-line/columns.ts';
import type { Input } from '#operate/command.ts';
import { flag, optionOf, required } from '#operate/ops/arguments/options.ts';
import { endpointFault } from '#operate/ops/keystone/endpoint-form.ts';
import {
  type Making,
  makeEntries,
  type Outcome,
  outcomeOf,
} from '#operate/ops/keystone/make-entries.ts';
import {
  type Entry,
  type Face,
  planRegistration,
} from '#operate/ops/keystone/plan-registration.ts';
import { findPlace, readRegistered } from '#operate/ops/keystone/read-registered.ts';
import { tableOf } from '#operate/ops/output/shown.ts';
import { type KeystoneAsking, type KeystoneVerb, wrongUsage } from '#operate/ops/verb.ts';

async function register(asking: KeystoneAsking) {
  const { keystone, input } = asking;
  const urls = readUrls(input);
  const isDryRun = input.has('dry-run');
  const place = await findPlace(keystone, {
    region: asking.region,
    userDomain: input.text('user-domain') ?? 'Default',
    projectDomain: input.text('project-domain') ?? 'Default',
  });
  const names = {
    ...place,
    username: input.text('user') ?? 'cyborg',
    projectName: input.text('user-project') ?? 'service',
  };
  const registered = await readRegistered(keystone, names);
  const entries = planRegistration({ ...names, urls }, registered);
  const password = registered.user || isDryRun ? undefined : readPassword(asking);
  const making: Making = { keystone, names, password, isUpdate: input.has('update') };
  if (!isDryRun) await makeEntries(entries, making);
  return shownEntries(
    entries.map((entry) => toRow(entry, making)),
    isDryRun,
  );
}

function readUrls(input: Input): Readonly<Record<Face, string>> {
  const read = (option: string) => {
    const url = input.text(option);
    if (url === undefined) return url;
    if (!/^https?:\/\/[^/\s?#]+[^\s?#]*$/.test(url)) {
      throw wrongUsage(
        `--${option} ${url} must be a URL such as https://accelerator.example.org/accelerator/v2.`,
      );
    }
    const fault = endpointFault(url);
    if (fault === undefined) return url;
    throw wrongUsage(`--${option} ${url} ${fault}`);
  };
  const all = read('url') ?? '';
  return { public: all, internal: read('internal-url') ?? all, admin: read('admin-url') ?? all };
}

/** @throws CommandFailed if there is none; only a new user needs it */
function readPassword({ input, environment, readFile }: KeystoneAsking): string {
  const file = input.text('password-file');
  const text = file === undefined ? environment.CYBORG_PASSWORD : readFile(file);
  if (file !== undefined && text === undefined) {
    throw wrongUsage(`--password-file names ${file}, which does not exist.`);
  }
  const password = text?.replace(/\r?\n$/, '');
  if (password) return password;
  throw wrongUsage(
    file === undefined
      ? 'The password of the new service user is missing: set CYBORG_PASSWORD, or name a file with --password-file.'
      : `--password-file names ${file}, which is empty: its content must be the password.`,
  );
}

interface Row {
  readonly what: string;
  readonly name: string;
  readonly outcome: Outcome;
  readonly url?: string | undefined;
  readonly url_before?: string | undefined;
}

function toRow(entry: Entry, making: Making): Row {
  const { kind, name, url, urlNow } = entry;
  return { what: kind, name, outcome: outcomeOf(entry, making), url, url_before: urlNow };
}

function shownEntries(rows: readonly Row[], isDryRun: boolean) {
  const shown = (outcome: Outcome) =>
    isDryRun && ['made', 'updated'].includes(outcome) ? `would be ${outcome}` : outcome;
  const columns: readonly Column<Row>[] = [
    { title: 'what', of: ({ what }) => (what === 'grant' ? 'role of the user' : what) },
    { title: 'name', of: ({ name }) => name, isWhole: true },
    { title: 'state', of: ({ outcome }) => shown(outcome), isWhole: true },
    { title: 'url', of: ({ url }) => url },
    { title: 'url before', of: (row) => row.url_before, isOptional: true },
  ];
  return {
    json: { dry_run: isDryRun, registration: rows },
    table: tableOf(columns, rows, { foot: ['', ...describeRows(rows, isDryRun)] }),
    exitCode: rows.some(isWrong) ? 1 : 0,
  };
}

function isWrong({ outcome }: Row): boolean {
  return outcome === 'differs' || outcome === 'disabled';
}

function describeRows(rows: readonly Row[], isDryRun: boolean): readonly string[] {
  const count = (outcome: Outcome) => rows.filter((row) => row.outcome === outcome).length;
  const would = isDryRun ? 'would be ' : '';
  const changes = (['made', 'updated'] as const).flatMap((each) =>
    count(each) > 0 ? [`${count(each)} ${would}${each}`] : [],
  );
  const wrong = rows.filter(isWrong);
  const all = wrong.length === 0 ? 'Nothing to change: the deployment is registered.' : undefined;
  return [
    ...(changes.length > 0 ? [`${changes.join(', ')}.`] : all ? [all] : []),
    ...(isDryRun && changes.length > 0 ? ['Nothing was changed; run it without --dry-run.'] : []),
    ...wrong.map(({ what, name, outcome, url_before }) =>
      outcome === 'differs'
        ? `The endpoint ${name} is ${url_before}: --update moves it.`
        : `The ${what} ${name} is disabled: \`openstack ${what} set --enable\` ends that.`,
    ),
  ];
}

export const keystoneVerbs: readonly KeystoneVerb[] = [
  {
    path: ['keystone', 'register'],
    summary: "makes the service user, and the API's entry in the catalog; changes nothing twice",
    options: {
      url: required('url', "the API's URL, as the deployment printed it in Endpoint"),
      'internal-url': optionOf('url', 'of the internal endpoint, if it differs'),
      'admin-url': optionOf('url', 'of the admin endpoint, if it differs'),
      user: optionOf('name', 'the service user; cyborg'),
      'user-project': optionOf('name', "the service user's project; service"),
      'user-domain': optionOf('name', 'of the service user; Default'),
      'project-domain': optionOf('name', "of the service user's project; Default"),
      'password-file': optionOf('file', 'with the password of a new user; CYBORG_PASSWORD'),
      update: flag('moves endpoints that have another URL'),
      'dry-run': flag('shows what would be made, and changes nothing'),
    },
    example:
      'cyborg-ops keystone register --url https://accelerator.example.org/accelerator/v2 --dry-run',
    askKeystone: register,
  },
];
