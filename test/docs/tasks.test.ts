// docs/tasks.md: each command of the page, in its order, does and prints what the page says, on
// the running control plane.

import { describe, expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { namesIn, readTasks, wordsOf } from './tasks.ts';
import { startCloud } from './tasks-cloud.ts';

const cloud = perFile(startCloud);
const tasks = readTasks();

it('docs/tasks.md has the tasks, and each has commands', () => {
  expect(tasks.map(({ title }) => title)).toEqual([
    'A GPU failed',
    'Who had this card in March?',
    'A host is gone for good',
    'A project wants 40 vGPUs',
  ]);
  for (const { commands } of tasks) expect(commands.length).toBeGreaterThanOrEqual(3);
});

describe.each(tasks)('$title', ({ title, commands }) => {
  it.each(commands)('$line', async ({ line, exitCode, printed, at }) => {
    await cloud.prepare(title, at);
    const [program, ...words] = wordsOf(line, cloud.names(title));
    expect(program).toBe('cyborg-ops');
    const told = await cloud.run(words);
    const text = namesIn(`${told.out}${told.err}`, cloud.names(title));
    expect({ exitCode: told.exitCode, text }).toEqual({ exitCode, text: namesIn(printed, {}) });
  });
});

it('cyborg-ops history --limit shows the first rows of the order', async () => {
  const march = ['--from', '2026-03-01', '--to', '2026-04-01', '--json'];
  const rowsOf = async (...words: string[]) =>
    JSON.parse((await cloud.run(['history', '--host', 'cmp1.example', ...march, ...words])).out)
      .history;
  const all = await rowsOf();
  expect(all.length).toBeGreaterThan(3);
  expect(await rowsOf('--limit', '2')).toEqual(all.slice(0, 2));
  const oldest = await rowsOf('--order', 'oldest-first', '--limit', '2');
  expect(oldest).toEqual(all.toReversed().slice(0, 2));
});
