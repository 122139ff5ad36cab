// The recorded demo has the steps of local/demo/main.ts and steps.ts, in their order.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Log lines of the demo's steps; the values that they fill in may be anything. */
const steps = [
  ...`${textOf('local/demo/main.ts')}${textOf('local/demo/steps.ts')}`.matchAll(
    /^ +done\(([`'])(.+)\1\);$/gm,
  ),
].map(([, , sentence = '']) => {
  const fixed = fixedParts(sentence).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${fixed.join('.+')}$`);
});

/** A template's text around its `${...}`, which may contain braces of its own. */
function fixedParts(template: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const [index, letter] of [...template].entries()) {
    if (letter === '{' && (depth > 0 || template[index - 1] === '$')) depth += 1;
    else if (letter === '}' && depth > 0) {
      depth -= 1;
      if (depth === 0) parts.push('');
    } else if (depth === 0 && !template.startsWith('${', index)) {
      parts[parts.length - 1] += letter;
    }
  }
  return parts;
}

const page = textOf('docs/demo.md');
const recorded = [...page.matchAll(/^ *\d+ ms {2}(.+)$/gm)].map(([, sentence = '']) => sentence);

it('docs/demo.md has the steps of the demo', () => {
  expect(steps.length).toBeGreaterThan(10);
  expect(recorded).toHaveLength(steps.length);
  for (const [index, step] of steps.entries()) expect(recorded[index]).toMatch(step);
  expect(page).toContain(`All ${steps.length} steps succeeded;`);
});

it('docs/demo.svg shows the same lines, each at its time', () => {
  const drawing = textOf('docs/demo.svg');
  for (const sentence of recorded) expect(drawing).toContain(sentence);
  const times = [...drawing.matchAll(/dur="([\d.]+)s"/g)].map(([, seconds]) => Number(seconds));
  expect(times.length).toBeGreaterThan(steps.length);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
});
