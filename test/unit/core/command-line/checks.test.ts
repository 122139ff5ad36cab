// Findings of the doctor and of the preflight, as a terminal gets them.

import { afterEach, expect, it, vi } from 'vitest';
import { type Finding, printFindings } from '#core/command-line/checks.ts';

const findings: readonly Finding[] = [
  { check: 'token', ok: 'a token' },
  { check: 'host a\nok', wrong: 'x\u001b[2J\nok     host b: fine', remedy: 'y\nz' },
  { check: 'quota', unseen: 'no answer' },
];

const { isTTY } = process.stdout;

afterEach(() => {
  process.stdout.isTTY = isTTY;
  process.exitCode = undefined;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function printed(
  onTerminal: boolean,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  for (const [name, value] of Object.entries({ NO_COLOR: '', TERM: 'xterm', ...environment })) {
    vi.stubEnv(name, value);
  }
  process.stdout.isTTY = onTerminal;
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  async function* each() {
    yield* findings;
  }
  await printFindings(each());
  const text = write.mock.calls.map(([part]) => String(part)).join('');
  write.mockRestore();
  return text;
}

const plain = `ok     token: a token
WRONG  host a ok: x [2J ok     host b: fine
       → y z
  --   quota: no answer
1 ok, 1 wrong, 1 undetermined
`;

it('have their marks in colours on a terminal, and no text of a host in any', async () => {
  const esc = '\u001b';
  const expected = plain
    .replace(/^ok {5}/, `${esc}[32mok     ${esc}[39m`)
    .replace('WRONG  ', `${esc}[31mWRONG  ${esc}[39m`)
    .replace('  --   ', `${esc}[33m  --   ${esc}[39m`);
  expect(await printed(true)).toBe(expected);
});

it.each([
  ['a pipe', false, {}],
  ['NO_COLOR', true, { NO_COLOR: '1' }],
  ['a terminal that has none', true, { TERM: 'dumb' }],
])('have no colour for %s', async (_, isTTY, environment) => {
  expect(await printed(isTTY, environment)).toBe(plain);
});
