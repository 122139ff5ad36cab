import { print, printable } from '#core/command-line/print.ts';

/** Prints a line whose text a host, a tenant or another service may have written. */
export function printLine(text: string): void {
  print(oneLine(text));
}

/** A text with a line break could pass for lines of the command itself. */
export function oneLine(text: string): string {
  return printable(text).replaceAll(/\n+/g, ' ');
}
