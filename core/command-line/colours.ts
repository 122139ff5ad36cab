// Colours of a terminal, for texts that a reader looks for: states, and marks of findings.

/** Select Graphic Rendition of ECMA-48. */
const colours = { red: '\u001b[31m', green: '\u001b[32m', yellow: '\u001b[33m' } as const;
const plain = '\u001b[39m';

export type Colour = keyof typeof colours;

export function coloured(text: string, colour: Colour): string {
  return `${colours[colour]}${text}${plain}`;
}

/** https://no-color.org */
export function hasColours(
  stream: { readonly isTTY?: boolean },
  { NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && !NO_COLOR && TERM !== 'dumb';
}
