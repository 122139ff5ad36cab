// Words of the command line → the verb of the table and what was given to it. Pure: the table and
// the time come in.

import { parseArgs } from 'node:util';
import { nearest } from '#core/command-line/nearest.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Input } from '#operate/command.ts';
import { connectionOptions, outputOptions, verbsOf } from '#operate/ops/table.ts';
import {
  type ApiVerb,
  type KeystoneVerb,
  type LocalVerb,
  type Option,
  type Options,
  type StackVerb,
  signsIn,
  type Verb,
  wrongUsage,
} from '#operate/ops/verb.ts';

export type Parsed =
  | { readonly kind: 'help'; readonly path: readonly string[] }
  | { readonly kind: 'version' }
  | { readonly kind: 'api'; readonly verb: ApiVerb | KeystoneVerb; readonly input: Input }
  | { readonly kind: 'local'; readonly verb: LocalVerb; readonly input: Input }
  | { readonly kind: 'stack'; readonly verb: StackVerb; readonly input: Input };

/** The options that a verb takes, those of every verb included. */
export function optionsOf(verb: Verb): Options {
  if (!signsIn(verb)) return verb.options ?? {};
  const { endpoint, ...identity } = connectionOptions;
  const connection = 'ask' in verb ? connectionOptions : identity;
  // An option of its own comes first, and in place of the common one of that name.
  return { ...verb.options, ...outputOptions, ...verb.options, ...connection };
}

/** `--server` is `--instance`, as users of Nova call it. */
const otherNames = { name: 'server', of: 'instance' } as const;

type Token = ReturnType<typeof tokenize>[number];

/** @throws CommandFailed for words that are wrong */
export function parse(words: readonly string[], table: readonly Verb[], now: number): Parsed {
  const tokens = tokenize(words, table);
  const names = tokens.flatMap((each) => (each.kind === 'positional' ? [each] : []));
  const wants = (name: string) =>
    tokens.some((each) => each.kind === 'option' && each.name === name);
  const [first, ...others] = names;
  const resource = first && { ...first, value: resourceNamed(first.value, table) };
  const following = others.map(({ value }) => value);
  if (wants('version') && resource === undefined) return { kind: 'version' };
  const verbs = resource ? verbsOf(resource.value, table) : table;
  if (resource && verbs.length === 0) {
    throw wrongUsage(
      `Unknown command ${resource.value}${nearest(resource.value, resourcesOf(table))} it must be one of ${resourcesOf(table).join(', ')}.`,
    );
  }
  if (wants('help')) {
    const verb = verbs.find((each) => each.path[1] !== undefined && isNamed(each, following));
    const name = verb?.path[1];
    const path = resource ? [resource.value, ...(name === undefined ? [] : [name])] : [];
    return { kind: 'help', path };
  }
  if (resource === undefined) {
    refuseOptions(tokens, {}, 'cyborg-ops');
    return { kind: 'help', path: [] };
  }
  const verb = choose(resource.value, following, verbs);
  const input = readInput(verb, tokens, names.slice(namedBy(verb, following)), now);
  if (signsIn(verb)) return { kind: 'api', verb, input };
  return 'print' in verb ? { kind: 'local', verb, input } : { kind: 'stack', verb, input };
}

/** `host` is `hosts`, and `quotas` is `quota`. */
function resourceNamed(word: string, table: readonly Verb[]): string {
  const others = [word, `${word}s`, word.replace(/s$/, '')];
  return others.find((each) => verbsOf(each, table).length > 0) ?? word;
}

export function resourcesOf(table: readonly Verb[]): string[] {
  return [...new Set(table.map(({ path: [resource] }) => resource))];
}

/** Reads every word, so that each wrong one can be named. The types are those of all verbs. */
function tokenize(words: readonly string[], table: readonly Verb[]) {
  const all = Object.assign(
    {},
    connectionOptions,
    outputOptions,
    ...table.map((each) => each.options),
  );
  const types = Object.fromEntries(
    Object.entries<Option>(all).map(([name, { type, short }]) => [
      name,
      { type, ...present({ short }) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...words],
    options: {
      ...types,
      [otherNames.name]: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens.map((token) =>
    token.kind === 'option' && token.name === otherNames.name
      ? { ...token, name: otherNames.of }
      : token,
  );
}

function choose(resource: string, following: readonly string[], verbs: readonly Verb[]): Verb {
  const named = verbs.find((verb) => isNamed(verb, following));
  if (named) return named;
  const [name] = following;
  const list = verbs.find((verb) => verb.path[1] === 'list' && signsIn(verb));
  if (name === undefined && list) return list;
  const choices = verbs.flatMap(({ path }) => path[1] ?? []);
  const allowed = choices.join(', ');
  throw wrongUsage(
    name === undefined
      ? `The verb of ${resource} is missing: it must be one of ${allowed}.`
      : `Unknown verb ${name} of ${resource}${nearest(name, choices)} it must be one of ${allowed}.`,
  );
}

/** @param following the words after the resource */
export function isNamed({ path: [, name] }: Verb, following: readonly string[]): boolean {
  return wordsOf(name).every((word, at) => word === following[at]);
}

/** How many words name the verb: `hosts` alone is `hosts list`. */
function namedBy({ path: [, name] }: Verb, following: readonly string[]): number {
  return following.length > 0 ? 1 + wordsOf(name).length : 1;
}

/** `baseline set` has two. */
function wordsOf(name: string | undefined): readonly string[] {
  return name?.split(' ') ?? [];
}

function readInput(
  verb: Verb,
  tokens: readonly Token[],
  rest: readonly { readonly value: string }[],
  now: number,
): Input {
  const name = verb.path.join(' ');
  const options = readOptions(verb, tokens, name, now);
  const byName = readArguments(
    verb,
    rest.map(({ value }) => value),
    name,
  );
  return {
    argument(argument) {
      const [value] = byName.get(argument) ?? [];
      if (value === undefined) throw new Error(`${name} has no argument ${argument}.`);
      return value;
    },
    repeated: (argument) => byName.get(argument) ?? [],
    text: (option) => options.get(option)?.[0],
    required(option) {
      const [value] = options.get(option) ?? [];
      if (value === undefined) throw new Error(`${name} does not require --${option}.`);
      return value;
    },
    all: (option) => options.get(option) ?? [],
    has: (option) => options.has(option),
  };
}

function readArguments(verb: Verb, values: readonly string[], name: string) {
  const byName = new Map<string, readonly string[]>();
  const { arguments: declared = [] } = verb;
  for (const [at, argument] of declared.entries()) {
    const taken = argument.isRepeated ? values.slice(at) : values.slice(at, at + 1);
    if (taken.length === 0 && argument.isOptional) continue;
    if (taken.length === 0 || taken.includes('')) {
      throw wrongUsage(`${name} needs <${argument.name}>: ${argument.help}.`);
    }
    for (const value of taken) refuseUnlisted(`<${argument.name}>`, value, argument.choices);
    byName.set(argument.name, taken);
  }
  const isOpen = declared.at(-1)?.isRepeated === true;
  const extra = isOpen ? undefined : values[declared.length];
  if (extra !== undefined) throw wrongUsage(`Unexpected argument ${extra} of ${name}.`);
  return byName;
}

function readOptions(verb: Verb, tokens: readonly Token[], name: string, now: number) {
  const allowed = optionsOf(verb);
  refuseOptions(tokens, allowed, name);
  const read = new Map<string, readonly string[]>();
  for (const token of tokens) {
    const option = token.kind === 'option' ? allowed[token.name] : undefined;
    if (token.kind !== 'option' || option === undefined) continue;
    const before = read.get(token.name);
    if (before && !option.isRepeated) throw wrongUsage(`Duplicate option --${token.name}.`);
    if (option.type === 'boolean') refuseValue(token);
    const values = option.type === 'boolean' ? [] : [readValue(token, option, now)];
    read.set(token.name, [...(before ?? []), ...values]);
  }
  for (const [each, { isRequired, help }] of Object.entries(allowed)) {
    if (isRequired && !read.has(each)) throw wrongUsage(`${name} needs --${each}: ${help}.`);
  }
  return read;
}

/** A secret on the command line is seen by every user of the machine. */
const secrets = ['os-password', 'os-token', 'os-application-credential-secret'];

/** Names no value: it may be a secret. */
function refuseOptions(tokens: readonly Token[], options: Options, name: string): void {
  for (const token of tokens) {
    if (token.kind !== 'option' || token.name in options) continue;
    if (secrets.includes(token.name)) {
      const variable = token.name.toUpperCase().replaceAll('-', '_');
      throw wrongUsage(
        `--${token.name} is not taken, since all users see arguments: set ${variable}.`,
      );
    }
    const allowed = Object.keys(options).map((each) => `--${each}`);
    const which = allowed.length === 0 ? 'it has none' : `it must be one of ${allowed.join(', ')}`;
    const like = nearest(token.rawName, allowed);
    throw wrongUsage(`Unknown option ${token.rawName} of ${name}${like} ${which}.`);
  }
}

type OptionToken = Extract<Token, { readonly kind: 'option' }>;

function refuseValue({ name, value }: OptionToken): void {
  if (value !== undefined) throw wrongUsage(`--${name} takes no value.`);
}

function readValue({ name, value, inlineValue }: OptionToken, option: Option, now: number): string {
  const shown = `--${name} <${option.value ?? 'value'}>`;
  if (value === undefined || value === '') throw wrongUsage(`The value of ${shown} is missing.`);
  if (!inlineValue && value.startsWith('-')) {
    throw wrongUsage(
      `The value of ${shown} is missing: write --${name}=${value} if it is ${value}.`,
    );
  }
  refuseUnlisted(`--${name}`, value, option.choices);
  if (option.reads === undefined) return value;
  return option.reads === 'count'
    ? parseCount(name, value)
    : parseTime(name, value, now, option.reads === 'time-after' ? 1 : -1);
}

function refuseUnlisted(
  place: string,
  value: string,
  choices: readonly string[] | undefined,
): void {
  if (choices === undefined || choices.includes(value)) return;
  throw wrongUsage(`${place} ${value} must be one of ${choices.join(', ')}.`);
}

function parseCount(name: string, value: string): string {
  if (/^[1-9]\d{0,8}$/.test(value)) return value;
  throw wrongUsage(`--${name} ${value} must be an integer from 1.`);
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time with its zone, a date in UTC, or a duration from now on or back. */
function parseTime(name: string, value: string, now: number, direction: 1 | -1): string {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(value) ?? [];
  if (count !== undefined) {
    const at = now + direction * Number(count) * (unitMs[unit] ?? 0);
    return `${new Date(at).toISOString().slice(0, 19)}Z`;
  }
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(value);
  const at = isTime ? new Date(value) : new Date(Number.NaN);
  if (!Number.isNaN(at.getTime())) return at.toISOString().replace('.000Z', 'Z');
  throw wrongUsage(
    `--${name} ${value} must be a time such as 2026-03-01T12:00:00Z, a date, or a duration such as 90m, 4h or 7d.`,
  );
}
