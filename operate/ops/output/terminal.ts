// What people look at: lines in which states have colours, and a picture that is drawn again.
// Hosts, clouds and tenants have written parts of these lines, and no part acts on the terminal.

import { hasColours } from '#core/command-line/colours.ts';
import { oneLine } from '#core/command-line/print.ts';
import { withColours } from './colours.ts';

/** The lines of a picture for a terminal of this width. */
export type Picture = (width: number) => readonly string[];

export interface Terminal {
  readonly show: (line: string) => void;
  /** Replaces what the terminal shows; undefined where that is not possible. */
  readonly draw: ((picture: Picture) => void) | undefined;
}

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const usual = { columns: 80, rows: 24 };
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

export function openTerminal(
  stdout: Output,
  environment: Readonly<Record<string, string | undefined>>,
): Terminal {
  const isColoured = hasColours(stdout, environment);
  const styled = (line: string) => (isColoured ? withColours(oneLine(line)) : oneLine(line));

  function draw(picture: Picture): void {
    // A terminal that does not know its size has none, or 0.
    const columns = stdout.columns || usual.columns;
    const rows = stdout.rows || usual.rows;
    // A line more would scroll the first one away.
    const lines = picture(columns)
      .slice(0, rows - 1)
      .map((line) => styled([...oneLine(line)].slice(0, columns).join('')));
    const text = lines.map((line) => `${line}${clearLine}\n`).join('');
    stdout.write(`${home}${text}${clearBelow}`);
  }

  return {
    show: (line) => stdout.write(`${styled(line)}\n`),
    draw: stdout.isTTY === true && environment.TERM !== 'dumb' ? draw : undefined,
  };
}
