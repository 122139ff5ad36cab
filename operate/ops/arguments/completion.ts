// The candidates for the next word of the command line, from the table of verbs.

import { verbsOf } from '#operate/ops/table.ts';
import type { Options, Verb } from '#operate/ops/verb.ts';
import { isNamed, optionsOf, resourcesOf } from './parse.ts';

/**
 * @param words of the line after the command's name; the last one is being typed
 * @returns the candidates; none where the shell may offer files
 */
export function complete(words: readonly string[], table: readonly Verb[]): string[] {
  // Bash takes `--state=on` for three words.
  const split = words.filter((word, at) => word !== '=' || at === words.length - 1);
  const typed = split.at(-1) === '=' ? '' : (split.at(-1) ?? '');
  const before = split.slice(0, -1);
  return candidates(before, typed, table).filter((each) => each.startsWith(typed));
}

function candidates(before: readonly string[], typed: string, table: readonly Verb[]): string[] {
  const all: Options = Object.assign({}, ...table.map(optionsOf));
  const takesValue = (word = '') => word.startsWith('--') && all[word.slice(2)]?.type === 'string';
  const [resource, ...following] = before.filter(
    (word, at) => !word.startsWith('-') && !takesValue(before[at - 1]),
  );
  const verbs = resource === undefined ? [] : verbsOf(resource, table);
  const verb = verbs.find((each) => isNamed(each, following));
  if (takesValue(before.at(-1))) {
    const name = before.at(-1)?.slice(2) ?? '';
    const option = verb ? optionsOf(verb)[name] : all[name];
    return [...(option?.choices ?? [])];
  }
  if (typed.startsWith('-')) return optionNames(before, verb ? [verb] : verbs);
  if (resource === undefined) return resourcesOf(table);
  if (verb === undefined) return nextWords(verbs, following);
  const position = following.length - (verb.path[1]?.split(' ').length ?? 0);
  return [...(verb.arguments?.[position]?.choices ?? [])];
}

/** The words that go on to a verb's name. */
function nextWords(verbs: readonly Verb[], following: readonly string[]): string[] {
  const names = verbs.map(({ path }) => path[1]?.split(' ') ?? []);
  const open = names.filter((words) => following.every((word, at) => word === words[at]));
  return [...new Set(open.flatMap((words) => words[following.length] ?? []))];
}

/** Not those that the line has already. */
function optionNames(before: readonly string[], verbs: readonly Verb[]): string[] {
  const names = new Set(['help', ...verbs.flatMap((verb) => Object.keys(optionsOf(verb)))]);
  if (verbs.length === 0) names.add('version');
  return [...names].map((name) => `--${name}`).filter((each) => !before.includes(each));
}
