// What reaches the terminal of an operator, to the byte.

import { beforeEach, describe, expect, it } from 'vitest';
import { withColours } from '#operate/ops/output/colours.ts';
import { openTerminal } from '#operate/ops/output/terminal.ts';

let written: string;
const screen = { isTTY: true, columns: 20, rows: 4, write: (text: string) => (written += text) };
const pipe = { write: screen.write };
const red = (text: string) => `\u001b[31m${text}\u001b[39m`;

beforeEach(() => {
  written = '';
});

describe('a line', () => {
  it('has states in colours where a terminal shows it', () => {
    openTerminal(screen, {}).show('cmp1  away  since');
    expect(written).toBe(`cmp1  ${red('away')}  since\n`);
  });

  it.each([
    ['a file or a pipe', pipe, {}],
    ['NO_COLOR', screen, { NO_COLOR: '1' }],
    ['a terminal that has none', screen, { TERM: 'dumb' }],
  ])('has none for %s', (_, stream, environment) => {
    openTerminal(stream, environment).show('cmp1  away');
    expect(written).toBe('cmp1  away\n');
  });

  it.each([screen, pipe])('acts on no terminal, whatever a host has written', (stream) => {
    openTerminal(stream, {}).show('cmp1\u001b[2J\u009b31m\u202e  away\nok     forged');
    expect(written.replace(red('away'), 'away')).toBe('cmp1 [2J 31m   away ok     forged\n');
  });
});

describe('a state', () => {
  it.each(['away', 'BindFailed', 'unhealthy'])('%s is red as a whole cell', (state) => {
    expect(withColours(`a  ${state}`)).toBe(`a  ${red(state)}`);
  });

  it('has no colour within a text or a name', () => {
    const line = 'away-1  the host is away  Bound-to';
    expect(withColours(line)).toBe(line);
  });
});

describe('a picture', () => {
  it('replaces the last one, and fits the terminal', () => {
    const lines = ['1', 'x'.repeat(30), 'a\u001b[2J\nb', '4', '5'];
    openTerminal(screen, { NO_COLOR: '1' }).draw?.((width) => {
      expect(width).toBe(20);
      return lines;
    });
    const expected = ['1', 'x'.repeat(20), 'a [2J b'].map((line) => `${line}\u001b[K\n`);
    expect(written).toBe(`\u001b[H${expected.join('')}\u001b[J`);
  });

  it.each([
    ['a pipe', pipe, {}],
    ['a terminal that cannot move', screen, { TERM: 'dumb' }],
  ])('is not drawn on %s', (_, stream, environment) => {
    expect(openTerminal(stream, environment).draw).toBeUndefined();
  });
});
