import { expect, it } from 'vitest';
import { jsonText, oneLine, printable } from '#core/command-line/print.ts';

const acting = '\u001b[2K\r\u0007\u009b31m\u202egnp.exe\u2028\u00ad\u{e0041}';

it('keeps lines and letters, and nothing that acts on a terminal', () => {
  const text = `Zürich 漢字 →\n${acting}`;
  expect(printable(text)).toBe('Zürich 漢字 →\n [2K   31m gnp.exe   ');
});

it('has no second line in a line that a host has written', () => {
  expect(oneLine(`cmp1${acting}\n\nok     forged`)).toBe('cmp1 [2K   31m gnp.exe    ok     forged');
});

it('writes JSON that reads back as it was, without what acts on a terminal', () => {
  const value = { evidence: { [acting]: acting }, name: 'Zürich 漢字' };
  const text = jsonText(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text).toBe(printable(text));
  expect(text).toContain('Zürich 漢字');
});
