// The documents as a site: a page for each Markdown file, with the index of docs/README.md beside
// it and a search in all of them. It needs no server and no network: a browser opens its files.

import { dirname, relative } from 'node:path';
import { escaped } from './escaped.ts';
import { anchorsOf, type Documents, findDeadLinks, resolveLink } from './links.ts';
import { toHtml } from './markdown.ts';

const index = 'docs/README.md';

export class SiteFailed extends Error {
  override readonly name = 'SiteFailed';
}

/**
 * @param isThere whether the project has a file or folder
 * @returns pages, and the data of the search, by their paths in the site
 * @throws SiteFailed for dead links, and for a page of docs/ that the index leads to by no link
 */
export function buildSite(
  documents: Documents,
  isThere: (path: string) => boolean,
): ReadonlyMap<string, string> {
  const dead = findDeadLinks(documents, isThere);
  if (dead.length > 0) throw new SiteFailed(`Dead links:\n${dead.join('\n')}`);
  const navigation = readNavigation(documents);
  const pages = [...documents].map(([file, text]) => {
    const html = pageHtml({ file, text, documents, navigation });
    return [pagePath(file), html] as const;
  });
  const sections = [...documents].flatMap(([file, text]) => sectionsOf(file, text));
  return new Map([
    ...pages,
    [
      'index.html',
      `<!doctype html><meta http-equiv="refresh" content="0; url=${pagePath(index)}">`,
    ],
    ['search-data.js', `globalThis.sections = ${JSON.stringify(sections)};\n`],
  ]);
}

interface Group {
  readonly title: string;
  readonly links: readonly {
    readonly name: string;
    readonly file: string;
    readonly anchor: string;
  }[];
}

function readNavigation(documents: Documents): readonly Group[] {
  const text = documents.get(index) ?? '';
  const groups = text
    .split(/^## /m)
    .slice(1)
    .map((section): Group => {
      const [title = ''] = section.split('\n');
      const links = [...section.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)].map(
        ([, name = '', link = '']) => {
          const { path, anchor } = resolveLink(index, link);
          return {
            name: capitalized(name.replaceAll('`', '')),
            file: path,
            anchor: anchor ? `#${anchor}` : '',
          };
        },
      );
      return { title, links };
    });
  const listed = new Set(groups.flatMap(({ links }) => links.map(({ file }) => file)));
  const isPage = (file: string) => /^docs\/[^/]+\.md$/.test(file) && file !== index;
  const unlisted = [...documents.keys()].filter((file) => isPage(file) && !listed.has(file));
  if (unlisted.length > 0) throw new SiteFailed(`Not in ${index}: ${unlisted.join(', ')}`);
  return groups;
}

/** Links within a sentence begin with a small letter; names of commands stay as they are. */
function capitalized(name: string): string {
  return name.includes('-') ? name : `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

interface PageOf {
  readonly file: string;
  readonly text: string;
  readonly documents: Documents;
  readonly navigation: readonly Group[];
}

function pageHtml({ file, text, documents, navigation }: PageOf): string {
  const here = dirname(pagePath(file));
  const to = (path: string) => relative(here, path);
  const href = (link: string) => {
    if (/^[a-z]+:/.test(link)) return link;
    const { path, anchor } = resolveLink(file, link);
    const target = documents.has(path) ? pagePath(path) : isPicture(path) ? path : undefined;
    return target && `${to(target)}${anchor === undefined ? '' : `#${anchor}`}`;
  };
  const groups = navigation.map(({ title, links }) => {
    const items = links
      .filter((link) => documents.has(link.file))
      .map((link) => {
        const mark = link.file === file && link.anchor === '' ? ' aria-current="page"' : '';
        return `<li><a${mark} href="${to(pagePath(link.file))}${link.anchor}">${escaped(link.name)}</a></li>`;
      });
    return `<h2>${escaped(title)}</h2><ul>${items.join('')}</ul>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(text))} - cyborg-serverless</title>
<link rel="stylesheet" href="${to('site.css')}">
<script defer src="${to('search.js')}" data-root="${to('.') || '.'}"></script>
</head>
<body>
<nav aria-label="Documents">
<a href="${to(pagePath(index))}">cyborg-serverless</a>
<input type="search" id="search" placeholder="Search" aria-label="Search the documents" autocomplete="off">
<ol id="results" hidden></ol>
${groups.join('\n')}
</nav>
<main>
${toHtml(text, href)}
</main>
</body>
</html>
`;
}

/** The file of a page in the site, which has the folders of the project. */
export function pagePath(file: string): string {
  return file.replace(/\.md$/, '.html');
}

/** Pictures are copied into the site; source files are not. */
export function isPicture(path: string): boolean {
  return /\.(png|svg)$/.test(path);
}

function titleOf(text: string): string {
  return (/^# (.+)$/m.exec(text)?.[1] ?? '').replaceAll('`', '');
}

/** The search finds what stands below each heading. */
function sectionsOf(file: string, text: string) {
  const anchors = anchorsOf(text);
  const code = /^( *)```.*?^\1```$/gms;
  const bodies = text
    // A comment in a block of code is no heading.
    .replaceAll(code, (block) => block.replaceAll(/^ *#/gm, ' #').replaceAll('```', ''))
    .split(/^#+ /m)
    .slice(1);
  return bodies.map((body, at) => {
    const [heading = '', ...rest] = body.split('\n');
    const plain = rest
      .join(' ')
      .replaceAll(/\]\([^)]*\)|[`*|[\]]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
    const url = `${pagePath(file)}#${anchors[at] ?? ''}`;
    return { page: titleOf(text), heading: heading.replaceAll('`', ''), url, text: plain };
  });
}
