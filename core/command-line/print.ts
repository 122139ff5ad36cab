// What reaches an operator's terminal. Hosts, tenants and other services have written parts of it,
// so no character of it may act on the terminal: an escape sequence can hide or forge lines.

import { type Colour, coloured, hasColours } from './colours.ts';

/** One line or several. */
export function print(text: string): void {
  process.stdout.write(`${printable(text)}\n`);
}

/** One line after its mark, which has its colour where a terminal shows it. */
export function printMarked(mark: string, colour: Colour, text: string): void {
  const { stdout, env } = process;
  const shown = hasColours(stdout, env) ? coloured(mark, colour) : mark;
  stdout.write(`${shown}${oneLine(text)}\n`);
}

export function printError(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** What a program reads: exact, unless a terminal shows it. */
export function printDocument(text: string): void {
  if (process.stdout.isTTY) print(text);
  else process.stdout.write(`${text}\n`);
}

/** A space in place of what would act on a terminal; lines stay. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

/** A text with a line break could pass for lines of the command itself. */
export function oneLine(text: string): string {
  return printable(text).replaceAll(/\n+/g, ' ');
}

/** JSON whose strings hold such characters as escapes, so that it is the same for programs. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu,
    (character) =>
      [...Array(character.length).keys()]
        .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
        .join(''),
  );
}
