// `npm run docs`: what is written in Markdown is there as HTML, and each link of the site leads to
// a page and a heading.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { toHtml } from '#infra/docs/markdown.ts';
import { DrawingInvalid } from '#infra/docs/mermaid.ts';
import { buildSite, isPicture } from '#infra/docs/site.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isThere = (path: string) => existsSync(join(root, path));
const html = (...lines: string[]) => toHtml(lines.join('\n'), (link) => link);

describe('Markdown', () => {
  it.each([
    [['# A `b`'], '<h1 id="a-b"><a href="#a-b">A <code>b</code></a></h1>'],
    [['One.', 'Two.', '', 'Three.'], '<p>One.\nTwo.</p>\n<p>Three.</p>'],
    [['```sh name', '# a <b>', '```'], '<pre><code># a &lt;b&gt;</code></pre>'],
    [['- a', '- b'], '<ul><li><p>a</p></li><li><p>b</p></li></ul>'],
    [
      ['1. a', '   b', '', '   ```sh', '   c', '   ```', '2. d'],
      '<ol><li><p>a\nb</p>\n<pre><code>c</code></pre></li><li><p>d</p></li></ol>',
    ],
    [
      ['- a', '  - b', '- c'],
      '<ul><li><p>a</p>\n<ul><li><p>b</p></li></ul></li><li><p>c</p></li></ul>',
    ],
    [
      ['| a | b |', '|---|---|', '| `x\\|y` | **z** |'],
      '<div class="table"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x|y</code></td><td><strong>z</strong></td></tr></tbody></table></div>',
    ],
    [['> a', '> b'], '<blockquote><p>a\nb</p></blockquote>'],
    [['[`a`](b.md) and *c*'], '<p><a href="b.md"><code>a</code></a> and <em>c</em></p>'],
    [['![a](b.png)'], '<p><img alt="a" src="b.png"></p>'],
    [['<script> `**a** [b](c)` 2*3*4'], '<p>&lt;script&gt; <code>**a** [b](c)</code> 2*3*4</p>'],
  ])('%j', (lines, expected) => {
    expect(html(...lines)).toBe(expected);
  });

  it('has text in place of a link to what is not in the site', () => {
    expect(toHtml('[code](../core/x.ts)', () => undefined)).toBe('<p>code</p>');
  });
});

describe('a drawing in Mermaid', () => {
  const drawn = (...lines: string[]) => html('```mermaid', ...lines, '```');

  it.each([
    [
      ['sequenceDiagram', 'participant a as Nova', 'participant b as the API', 'a-->>b: POST <x>'],
      'Nova to the API: POST &lt;x&gt;',
    ],
    [['stateDiagram-v2', 'state A {', '[*] --> B: begins', '}'], 'A to B: begins'],
    [['flowchart LR', 'a["one way"]', 'a -->|fails| b'], 'one way to b: fails'],
  ])('%j is a picture, and a text for who cannot see it', (lines, text) => {
    const svg = drawn(...lines);
    expect(svg).toContain(`<svg class="drawing" role="img" aria-label="${text}"`);
    expect(svg.match(/class="arrow"/g)).toHaveLength(1);
  });

  it.each([[['sequenceDiagram', 'loop each']], [['pie', 'title x']]])(
    '%j is refused: it has a form that is not drawn',
    (lines) => {
      expect(() => drawn(...lines)).toThrow(DrawingInvalid);
    },
  );
});

describe('a site', () => {
  const pages = (index: string, page: string) =>
    new Map([
      ['docs/README.md', `# Documents\n\n## How-to\n\n${index}`],
      ['docs/a.md', page],
    ]);

  it.each([
    ['a dead link', '- [A](a.md)', '# A\n\n[b](b.md)', 'docs/a.md: b.md'],
    ['a dead heading', '- [A](a.md)', '# A\n\n[b](#b)', 'docs/a.md: #b'],
    ['a page that the index does not list', 'None.', '# A', 'Not in docs/README.md: docs/a.md'],
  ])('is refused with %s', (_, index, page, fault) => {
    expect(() => buildSite(pages(index, page), () => false)).toThrow(fault);
  });

  it('has the index beside each page, and finds its sections', () => {
    const site = buildSite(pages('- [A](a.md)', '# A\n\nOne.\n\n## B\n\nTwo.\n'), () => false);
    expect(site.get('docs/a.html')).toContain(
      '<h2>How-to</h2><ul><li><a aria-current="page" href="a.html">A</a></li></ul>',
    );
    const data = site.get('search-data.js') ?? '';
    expect(JSON.parse(data.slice(data.indexOf('['), data.lastIndexOf(']') + 1))).toContainEqual({
      page: 'A',
      heading: 'B',
      url: 'docs/a.html#b',
      text: 'Two.',
    });
  });
});

describe('the site of these documents', () => {
  const files = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !file.startsWith('.') && isThere(file));
  const documents = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const site = buildSite(documents, isThere);
  const own = [...site].filter(([path]) => path.endsWith('.html') && path !== 'index.html');

  it('has each link lead to a page and a heading', () => {
    const dead = own.flatMap(([path, text]) =>
      [...text.matchAll(/(?:href|src)="([^"]*)"/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^https?:/.test(link))
        .filter((link) => {
          const [target = '', anchor] = link.split('#');
          const to = target === '' ? path : normalize(join(dirname(path), target));
          if (isPicture(to)) return !isThere(to);
          if (/^(search\.js|site\.css)$/.test(to)) return !isThere(join('infra/docs', to));
          const page = site.get(to);
          return page === undefined || (anchor && !page.includes(`id="${anchor}"`));
        })
        .map((link) => `${path}: ${link}`),
    );
    expect(own.length).toBeGreaterThan(100);
    expect(dead).toEqual([]);
  });

  it('needs no network: what a page loads is of the site', () => {
    const loaded = own.flatMap(([, text]) => [
      ...text.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="https?:[^"]*"/g),
    ]);
    expect(loaded).toEqual([]);
  });

  it('leaves no Markdown in a page', () => {
    const left = own.flatMap(([path, text]) => {
      const prose = text.replaceAll(/<(pre|code)>[\s\S]*?<\/\1>/g, '');
      return [...prose.matchAll(/^(#+ |```|\|).*|\]\([^)]*\)|\*\*/gm)].map(
        ([found]) => `${path}: ${found}`,
      );
    });
    expect(left).toEqual([]);
  });
});
