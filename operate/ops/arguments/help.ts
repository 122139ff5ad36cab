// The help, from the table of verbs.

import { outputOptions, verbsOf } from '#operate/ops/table.ts';
import { type Argument, type Options, signsIn, type Verb } from '#operate/ops/verb.ts';
import { optionsOf, resourcesOf } from './parse.ts';

const exitText = `Exit codes: 0 done; 1 failed, not found, or refused by the API; 2 wrong arguments or
settings; 3 not signed in, or not allowed; 4 a service cannot be reached.
Of doctor, enrol, profiles, reconcile, restore, import, export, cost and scale: 0 done;
1 something is wrong, differs, or was refused; 2 the command could not run.`;

const signInText = `Sign in as with every OpenStack client: OS_* variables, or clouds.yaml and OS_CLOUD.`;

/** @param path of the resource, and of its verb; empty for the whole command */
export function makeHelp(path: readonly string[], table: readonly Verb[]): string {
  const [resource, name] = path;
  if (resource === undefined) return wholeHelp(table);
  const verbs = verbsOf(resource, table);
  const verb = verbs.find((each) => each.path[1] === name) ?? verbs[0];
  if (verbs.length > 1 && name === undefined) return resourceHelp(resource, verbs);
  return verb ? verbHelp(verb) : wholeHelp(table);
}

function wholeHelp(table: readonly Verb[]): string {
  const rows = resourcesOf(table).map((resource): [string, string] => {
    const verbs = verbsOf(resource, table);
    const names = verbs.flatMap(({ path }) => path[1] ?? []);
    return [resource, names.length === 0 ? (verbs[0]?.summary ?? '') : names.join(', ')];
  });
  return `cyborg-ops <command> [<verb>] [<argument> ...] [--option ...]

${aligned(rows)}

cyborg-ops <command> [<verb>] --help   what it does, its options, and an example
cyborg-ops --version                   the version

${signInText}
${exitText}

Example:
  cyborg-ops hosts list --state away`;
}

function resourceHelp(resource: string, verbs: readonly Verb[]): string {
  const rows = verbs.map((verb): [string, string] => [
    [verb.path[1], ...argumentsOf(verb)].join(' '),
    verb.summary,
  ]);
  return `cyborg-ops ${resource} <verb> ...

${aligned(rows)}

${examplesOf(verbs.slice(0, 1))}`;
}

function verbHelp(verb: Verb): string {
  const declared = verb.arguments ?? [];
  const names = [...verb.path, ...argumentsOf(verb)];
  const rows = [
    ...declared.map((each): [string, string] => [shownArgument(each), each.help]),
    ...optionRows({ ...verb.options, ...(signsIn(verb) ? outputOptions : {}) }),
  ];
  const others = optionRows(optionsOf(verb)).slice(rows.length - declared.length);
  return [
    `cyborg-ops ${names.join(' ')}${requiredOf(verb.options)}${rows.length > declared.length ? ' [--option ...]' : ''}`,
    `${verb.summary[0]?.toUpperCase()}${verb.summary.slice(1)}.`,
    ...(rows.length > 0 ? [aligned(rows)] : []),
    ...(others.length > 0 ? [`${signInText}\n\n${aligned(others)}`] : []),
    examplesOf([verb]),
  ].join('\n\n');
}

function requiredOf(options: Options = {}): string {
  return Object.entries(options)
    .filter(([, { isRequired }]) => isRequired)
    .map(([name, { value }]) => ` --${name} <${value}>`)
    .join('');
}

function optionRows(options: Options): [string, string][] {
  return Object.entries(options).map(([name, { value, help, choices, short }]) => [
    `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`,
    choices ? `${help}: ${choices.join(', ')}` : help,
  ]);
}

const argumentsOf = (verb: Verb) => (verb.arguments ?? []).map(shownArgument);

function shownArgument({ name, isRepeated }: Argument): string {
  return `<${name}>${isRepeated ? ' ...' : ''}`;
}

function examplesOf(verbs: readonly Verb[]): string {
  const head = verbs.length > 1 ? 'Examples' : 'Example';
  return `${head}:\n${verbs.map(({ example }) => `  ${example}`).join('\n')}`;
}

function aligned(rows: readonly (readonly [string, string])[]): string {
  const wide = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(wide)}  ${right}`).join('\n');
}
