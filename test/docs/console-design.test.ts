// console/README.md against the style sheets: the page names each token, and each size and
// colour is a token.

import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('console/README.md', 'utf8');
const tokens = readFileSync('console/tokens.css', 'utf8');
const others = globSync('console/**/*.css').filter((path) => path !== 'console/tokens.css');
const styles = others.map((path) => [path, readFileSync(path, 'utf8')] as const);

const defined = valuesOf(tokens);
const named = new Set([...page.matchAll(/`(--[\w-]+)`/g)].map(([, name]) => name));

/** Without the narrow window, which changes some. */
function valuesOf(css: string): ReadonlyMap<string, string> {
  const [wide = ''] = css.split('@media (max-width: 40rem)');
  const found = [...wide.matchAll(/^\s*(--[\w-]+): ([^;]+);/gm)];
  return new Map(found.map(([, name = '', value = '']) => [name, value]));
}

describe('console/README.md', () => {
  it('names the tokens that the style sheet has, and no other', () => {
    expect([...named].sort()).toEqual([...defined.keys()].sort());
  });

  it('has the size of each text', () => {
    const rows = [...page.matchAll(/^\| `(--size-\w+)` \| (\d+) \|/gm)];
    expect(rows.map(([, name = '']) => name)).toEqual(
      [...defined.keys()].filter((name) => name.startsWith('--size-')),
    );
    for (const [, name = '', pixels] of rows) {
      expect([name, Number.parseFloat(defined.get(name) ?? '') * 16]).toEqual([
        name,
        Number(pixels),
      ]);
    }
  });

  it('names the icons that the console has', () => {
    const source = readFileSync('console/parts/icon.tsx', 'utf8');
    const icons = [...source.matchAll(/^ {2}(\w+):\s+'M/gm)].map(([, name]) => name);
    const [line = ''] = page.match(/^`console\/parts\/icon\.tsx`.*$/m) ?? [];
    expect([...line.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(icons.sort());
  });
});

describe('the style sheets of the console', () => {
  it('have no colour but a token', () => {
    for (const [path, css] of styles) {
      expect([path, css.match(/#[0-9a-f]{3,8}\b|rgba?\(|hsl|light-dark\(/gi)]).toEqual([
        path,
        null,
      ]);
    }
  });

  it('have no size of text and no distance but a token', () => {
    const sized = /^\s*(font-size|gap|padding[\w-]*|margin[\w-]*|border-radius): ([^;]+);/gm;
    const plain = /^(0|auto|1px|var\([^)]+\)|calc\([^;]+\)|\d+vh)$/;
    for (const [path, css] of styles) {
      const own = [...css.replaceAll(/calc\((?:[^()]|\([^()]*\))*\)/g, '0').matchAll(sized)]
        .filter(([, , value = '']) => !value.split(' ').every((part) => plain.test(part)))
        .map(([text]) => text.trim());
      expect([path, own]).toEqual([path, []]);
    }
  });

  it('use each token, and none that there is not', () => {
    const css = styles.map(([, text]) => text).join('\n');
    const local = new Set([...css.matchAll(/(--[\w-]+):/g)].map(([, name]) => name));
    const used = new Set([...css.matchAll(/var\((--[\w-]+)\)/g)].map(([, name = '']) => name));
    expect([...used].filter((name) => !defined.has(name) && !local.has(name))).toEqual([]);
    expect([...defined.keys()].filter((name) => !used.has(name))).toEqual([]);
  });

  it('give no two states of the map an equal colour', () => {
    const pairs = [...defined].filter(([name]) => /^--(host|device)-/.test(name));
    for (const theme of [0, 1]) {
      const colours = pairs.map(([, value]) => value.match(/#[0-9a-f]{6}/g)?.[theme]);
      expect(new Set(colours).size).toBe(pairs.length);
    }
  });
});
