import { oneLine, print } from '#core/command-line/print.ts';

/** Prints a line whose text a host, a tenant or another service may have written. */
export function printLine(text: string): void {
  print(oneLine(text));
}
