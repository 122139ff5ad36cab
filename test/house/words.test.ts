// The words and sentences of the house: Markdown has one sentence per line, comments end before
// column 100, and words that were replaced by the field's terms do not come back.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { eventDetails } from '#core/contracts/events.ts';
import { metrics } from '#core/contracts/metrics.ts';
import { driverText, moduleText } from '#test/drivers/new-driver-texts.ts';

/** Word → what to write instead, in documents and in code. */
const replaced: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\b(whoever|whomever|nobody|somebody)\b/i, 'the subject: the host, the operator, no bind'],
  [/\bby now\b/i, 'the moment, or nothing'],
  [/[\u2018\u2019\u201c\u201d]/, 'an ASCII quote or apostrophe'],
  [/\bstand-ins?\b|\bst(and|ood)s? in for\b/i, 'fake'],
  [/\bonion\b/i, 'middleware stack'],
  [/\bnouns?\b/i, 'resource'],
  [/\bcouriers?\b/i, 'delivery'],
  [/\bfrugal\b/i, 'low-memory'],
  [/\bset(s|ting)? aside\b/i, 'dead-letter (a message), not offer (a device)'],
  [/\b(makes?|made|making) again\b|\bstart(s|ed|ing)? over\b|\bboot jobs?\b/i, 'reprovision'],
  [/\bstrangers?\b/i, 'unknown consumer'],
  [/\brivals?\b/i, 'conflicting provider, concurrent operation'],
  [/\bcensus\b/i, 'usage metrics'],
  [/\battest(s|ed|ing)?\b/i, 'reinstate'],
  [/\bhand(s|ed|ing)? out\b/i, 'offer, give'],
  [/\bput(s|ting)? back\b/i, 'restore, return to the pool'],
  [/\bdoubt(s|ed|ful)?\b/i, 'mark unknown, quarantine'],
  [/\b(live|lives|lived) again\b/i, 'replay'],
  [/\bstands? twice\b/i, 'duplicate'],
  [/\bis no (JSON|setting|value|state|uuid|integer)\b/i, 'is not a valid ...'],
];

/** Words that product code does without: they say that a value was looked for, not what it is. */
const inProduct: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [
    /\b(const|let|function) (given|found|known|wanted|asked)\b|\((given|found|known|wanted|asked)\??: |\b(given|found|known|wanted|asked)\)? =>/,
    'a noun: request, expected, existing, stored, reported, candidate',
  ],
  [/^\s*(\*|\/\/|\/\*\*) (Of|By|As|For) /, 'a sentence with its subject'],
  [/\bso (many|long)\b/i, 'this many, at most n, until'],
  [/(?<!-)\b(told|tells)\b/i, 'notified, reports, says'],
  [/^\s*\.\.\.(\{ .* \}|\[.*\]),?$/, 'the fields, without a spread'],
  [/\blog\.(debug|info|warn|error)\([^)]*\.'/, 'an event without a full stop'],
];

/** Texts that documents have from the code, word by word. */
const quoted: readonly string[] = [
  ...metrics.map(({ meaning }) => meaning),
  ...Object.entries(eventDetails).flatMap(([type, schema]) => {
    const { description = '', properties = {} } = z.toJSONSchema(schema, { io: 'input' });
    const ofFields = Object.values(properties).map((each) => each as z.core.JSONSchema.JSONSchema);
    return [type, description, ...ofFields.flatMap((each) => each.description ?? [])];
  }),
];

const root = join(import.meta.dirname, '../..');
const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
const all = execFileSync('git', list, { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const files = all.filter((file) => file.endsWith('.md'));
// This file has the words themselves.
const code = all.filter(
  (file) => /\.(tsx?|css|html)$/.test(file) && !file.endsWith('/words.test.ts'),
);
const columnsMax = 99;

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

/** Lines as a reader sees them, without code, targets of links, and what is quoted. */
function linesOf(file: string): string[] {
  const text = asRead(textOf(file));
  return quoted.reduce((rest, each) => rest.replaceAll(each, ''), text).split('\n');
}

function asRead(text: string): string {
  return text
    .replaceAll(/^( *)```.*?^\1```$/gms, '')
    .replaceAll(/(\.test\.ts`: )"[^"]+"/g, '$1""')
    .replaceAll(/`[^`\n]+`/g, '`code`')
    .replaceAll(/\]\([^)\n]*\)/g, ']');
}

/** `undefined` for a line that is not prose: a table, a heading, the target of a link. */
function proseOf(line: string): string | undefined {
  if (/^\s*(\||#|\[[^\]]+\]: |!\[|$)/.test(line)) return undefined;
  return line.replace(/^\s*(-|\d+\.) /, '').replaceAll('**', '');
}

/** The sentences of a line; code may begin one. */
function sentencesOf(line: string): string[] {
  const prose = proseOf(line)?.replaceAll(abbreviation, '$1 ') ?? '';
  return prose.split(/(?<=[.!?]["')\]]*) +/).filter((each) => each !== '');
}

/** Code and a number with its point are one word each; a dash is none. */
const wordsIn = (sentence: string) =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
const wordsMax = 30;

const startsItem = (line: string) => /^\s*(-|\d+\.) /.test(line);
const abbreviation = /\b(e\.g|i\.e|etc|vs|cf)\. /gi;

/** Each offending line, with its file. */
function offenders(
  places: readonly (readonly [file: string, lines: readonly string[]])[],
  rule: (lines: readonly string[]) => readonly string[],
): string[] {
  return places.flatMap(([file, lines]) => rule(lines).map((each) => `${file}: ${each}`));
}

const termsOf = (table: typeof replaced) => (lines: readonly string[]) =>
  lines.flatMap((line) =>
    table.filter(([word]) => word.test(line)).map(([, instead]) => `${line} -> ${instead}`),
  );
const replacedTerms = termsOf(replaced);

describe('documents', () => {
  const documents = files.map((file) => [file, linesOf(file)] as const);

  it('have one sentence in each line', () => {
    const isTwo = (line: string) =>
      /[.!?]["')\]]* +\S/.test(proseOf(line)?.replaceAll(abbreviation, '') ?? '');
    expect(offenders(documents, (lines) => lines.filter(isTwo))).toEqual([]);
  });

  it('have no sentence that goes on in the next line', () => {
    const broken = (lines: readonly string[]) =>
      lines.filter((line, index) => {
        const [prose, next = ''] = [proseOf(line), lines[index + 1]];
        const isFollowed = proseOf(next) !== undefined && !startsItem(next);
        return prose !== undefined && isFollowed && !/[.!?:]["')\]]*$/.test(prose);
      });
    expect(offenders(documents, broken)).toEqual([]);
  });

  it(`have no sentence of more than ${wordsMax} words`, () => {
    const today = documents.filter(([file]) => !/\/adr\/|^CHANGELOG/.test(file));
    const tooLong = (lines: readonly string[]) =>
      lines.filter((line) => sentencesOf(line).some((each) => wordsIn(each) > wordsMax));
    expect(offenders(today, tooLong)).toEqual([]);
  });

  it.each([
    ['Two. `Sentences` of it: they go on.', [1, 6]],
    ['- **Bold.** [A link](docs/a.md) - and e.g. a dash.', [1, 6]],
    ['1. Version 1.2 of `a b.c d`, with a.b as one.', [8]],
    ['| a | table |', []],
    ['## A heading', []],
  ])('%j has sentences of %j words', (line, counts) => {
    const [shown = ''] = asRead(line).split('\n');
    expect(sentencesOf(shown).map(wordsIn)).toEqual(counts);
  });

  it('use the terms of the field', () => {
    expect(offenders(documents, replacedTerms)).toEqual([]);
  });
});

describe('code', () => {
  const sources = code.map((file) => [file, textOf(file).split('\n')] as const);

  it('uses the terms of the field', () => {
    expect(offenders(sources, replacedTerms)).toEqual([]);
  });

  it('of the product has names and sentences that say what a thing is', () => {
    const product = sources.filter(([file]) => !file.startsWith('test/'));
    // What `npm run driver:new` writes is a part of the product as well.
    const names = { name: 'acme_npu', file: 'acme-npu', pascal: 'AcmeNpu', camel: 'acmeNpu' };
    const made = [driverText(names), moduleText('acme_npu')].map(
      (text) => ['driver:new', text.split('\n')] as const,
    );
    expect(offenders([...product, ...made], termsOf(inProduct))).toEqual([]);
  });

  it(`has no comment beyond column ${columnsMax}`, () => {
    // A URL alone cannot be broken.
    const isComment = (line: string) =>
      /^\s*(\/\/|\/?\*)/.test(line) && !/^\s*(\/\/|\*) https:\S+$/.test(line);
    const tooLong = (lines: readonly string[]) =>
      lines.filter((line) => isComment(line) && line.length > columnsMax);
    expect(offenders(sources, tooLong)).toEqual([]);
  });
});
