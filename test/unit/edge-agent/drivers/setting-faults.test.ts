import { expect, it } from 'vitest';
import * as z from 'zod';
import { readForm } from '#agent/drivers/contract/setting-faults.ts';

const listIs = 'must list cards';
const form = z.strictObject({
  cards: z.array(z.strictObject({ name: z.string(), count: z.int() }), listIs).max(2),
  made: z.enum(['ahead', 'nova']).optional(),
  clean: z.boolean().optional(),
  size: z.number().optional(),
  traits: z.array(z.string()).optional(),
});
const card = { name: 'a', count: 1 };

it('returns the values of valid settings', () => {
  expect(readForm(form, { cards: [card] })).toEqual({ value: { cards: [card] } });
});

it.each<[unknown, string, string]>([
  [
    { cards: [card], mode: 1 },
    '',
    'unknown key "mode"; allowed are cards, made, clean, size, traits',
  ],
  [
    { cards: [{ ...card, b: 1, c: 2 }] },
    'cards.0',
    'unknown key "b", "c"; allowed are name, count',
  ],
  [[], '', 'must be an object; allowed keys are cards, made, clean, size, traits'],
  [{ cards: ['a'] }, 'cards.0', 'must be an object; allowed keys are name, count'],
  [{ cards: [{ count: 1 }] }, 'cards.0.name', 'is missing'],
  [{ cards: [{ name: 7, count: 1 }] }, 'cards.0.name', 'must be a string'],
  [{ cards: [{ name: 'a', count: 1.5 }] }, 'cards.0.count', 'must be a whole number'],
  [{ cards: [card], made: 'never' }, 'made', 'must be one of ahead, nova'],
  [{ cards: [card], clean: 'yes' }, 'clean', 'must be true or false'],
  [{ cards: [card], size: '9' }, 'size', 'must be a number'],
  [{ cards: [card], traits: 'a' }, 'traits', 'must be a list'],
  [{ cards: [card, card, card] }, 'cards', 'must have at most 2 entries'],
  [{ cards: 7 }, 'cards', listIs],
])('%j is answered by a sentence that says what is allowed', (given, path, message) => {
  const read = readForm(form, given);
  expect(
    'faults' in read && read.faults.map((each) => [each.path.join('.'), each.message]),
  ).toEqual([[path, message]]);
});
