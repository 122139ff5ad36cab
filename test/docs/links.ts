// The links of the documents, and the headings that they may name.

import { dirname, join, normalize } from 'node:path';

/** Markdown files by their path below the root of the project. */
export type Documents = ReadonlyMap<string, string>;

/** @returns each link to a file or a heading that is not there: `docs/a.md: b.md#c` */
export function findDeadLinks(
  documents: Documents,
  isThere: (path: string) => boolean,
): readonly string[] {
  return [...documents].flatMap(([file, text]) =>
    linksOf(text)
      .filter((link) => !leadsSomewhere(documents, isThere, file, link))
      .map((link) => `${file}: ${link}`),
  );
}

function leadsSomewhere(
  documents: Documents,
  isThere: (path: string) => boolean,
  file: string,
  link: string,
): boolean {
  const { path, anchor } = resolveLink(file, link);
  const text = documents.get(path);
  if (text === undefined) return anchor === undefined && isThere(path);
  return anchor === undefined || anchorsOf(text).includes(anchor);
}

/** The path below the root, and what follows `#`. */
export function resolveLink(file: string, link: string): { path: string; anchor?: string } {
  const [target = '', anchor] = link.split('#');
  const path = target === '' ? file : normalize(join(dirname(file), target));
  return anchor === undefined ? { path } : { path, anchor };
}

/** Links to other files and headings; addresses of other sites are left out. */
function linksOf(text: string): readonly string[] {
  const prose = withoutCode(text).replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** The names that GitHub gives headings: a second one of the same text gets `-1`. */
export function anchorsOf(text: string): readonly string[] {
  const seen = new Map<string, number>();
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const anchor = toAnchor(heading);
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

function toAnchor(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function withoutCode(text: string): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, '');
}
