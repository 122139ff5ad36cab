// Markdown as our documents have it, as HTML: headings, paragraphs, lists, tables, quotes, blocks
// of code, and in a line code, bold and emphasized text, links and pictures. Raw HTML is shown as
// text.

import { escaped } from './escaped.ts';
import { anchorsOf } from './links.ts';
import { mermaidToSvg } from './mermaid.ts';

/** @param href the address of a link in the site; undefined for what is not in it */
export type Href = (link: string) => string | undefined;

export function toHtml(text: string, href: Href): string {
  const anchors = [...anchorsOf(text)];
  return blocks(text.split('\n'), { href, nextAnchor: () => anchors.shift() ?? '' });
}

interface Page {
  readonly href: Href;
  readonly nextAnchor: () => string;
}

const fence = /^```(\S*).*$/;
const heading = /^(#{1,6}) (.+)$/;
const item = /^(-|\d+\.) +/;
const ruleOfTable = /^\|[-| :]+\|$/;

function blocks(lines: readonly string[], page: Page): string {
  const out: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const end = endOfBlock(lines, at);
    const block = lines.slice(at, end);
    if (line !== '') out.push(blockToHtml(block, page));
    at = end;
  }
  return out.join('\n');
}

/** The line after the block that begins here. */
function endOfBlock(lines: readonly string[], from: number): number {
  const line = lines[from] ?? '';
  const endAt = (isEnd: (line: string, at: number) => boolean) => {
    const at = lines.findIndex((each, index) => index > from && isEnd(each, index));
    return at === -1 ? lines.length : at;
  };
  if (line === '' || heading.test(line)) return from + 1;
  if (fence.test(line)) return endAt((each) => each === '```') + 1;
  if (line.startsWith('|')) return endAt((each) => !each.startsWith('|'));
  if (line.startsWith('>')) return endAt((each) => !each.startsWith('>'));
  // A list ends at a line that is neither an item nor below one.
  if (item.test(line)) {
    const kind = kindOf(line);
    return endAt((each) => each !== '' && !each.startsWith(' ') && kindOf(each) !== kind);
  }
  return endAt(
    (each) => each === '' || [fence, heading, item, /^[|>]/].some((start) => start.test(each)),
  );
}

function kindOf(line: string): 'ul' | 'ol' | undefined {
  if (line.startsWith('- ')) return 'ul';
  return item.test(line) ? 'ol' : undefined;
}

function blockToHtml(block: readonly string[], page: Page): string {
  const [first = ''] = block;
  const [, hashes, title] = heading.exec(first) ?? [];
  if (hashes && title) {
    const anchor = page.nextAnchor();
    const text = inline(title, page.href);
    return `<h${hashes.length} id="${anchor}"><a href="#${anchor}">${text}</a></h${hashes.length}>`;
  }
  if (first === '```mermaid') return mermaidToSvg(block.slice(1, -1));
  if (fence.test(first)) return `<pre><code>${escaped(block.slice(1, -1).join('\n'))}</code></pre>`;
  if (first.startsWith('|')) return tableToHtml(block, page.href);
  if (first.startsWith('>')) {
    const inner = block.map((line) => line.replace(/^> ?/, ''));
    return `<blockquote>${blocks(inner, page)}</blockquote>`;
  }
  const kind = kindOf(first);
  return kind ? listToHtml(kind, block, page) : `<p>${inline(block.join('\n'), page.href)}</p>`;
}

function listToHtml(kind: string, block: readonly string[], page: Page): string {
  const items: string[][] = [];
  for (const line of block) {
    const [marker = ''] = item.exec(line) ?? [];
    if (marker) items.push([line.slice(marker.length)]);
    else items.at(-1)?.push(line.replace(/^ {1,3}/, ''));
  }
  return `<${kind}>${items.map((lines) => `<li>${blocks(lines, page)}</li>`).join('')}</${kind}>`;
}

function tableToHtml(block: readonly string[], href: Href): string {
  // A bar after a backslash belongs to the text.
  const cellsOf = (row: string) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
  const row = (line: string, tag: 'td' | 'th') =>
    `<tr>${cellsOf(line)
      .map((cell) => `<${tag}>${inline(cell.replaceAll('\\|', '|'), href)}</${tag}>`)
      .join('')}</tr>`;
  const isHeaded = ruleOfTable.test(block[1] ?? '');
  const [head = '', , ...rows] = isHeaded ? block : ['', '', ...block];
  const body = rows.map((line) => row(line, 'td')).join('');
  return `<div class="table"><table>${head && `<thead>${row(head, 'th')}</thead>`}<tbody>${body}</tbody></table></div>`;
}

/** Code is kept apart first: nothing in it is markup. */
function inline(text: string, href: Href): string {
  const codes: string[] = [];
  const apart = text.replaceAll(/`([^`]+)`/g, (_, code: string) => {
    codes.push(`<code>${escaped(code)}</code>`);
    return `\ue000${codes.length - 1}\ue000`;
  });
  const html = escaped(apart)
    .replaceAll(
      /!\[([^\]]*)\]\(([^)\s]+)\)/g,
      (_, name, link) => `<img alt="${name}" src="${href(link) ?? ''}">`,
    )
    .replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (_, name, link) => {
      const to = href(link);
      return to === undefined ? name : `<a href="${to}">${name}</a>`;
    })
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])/g, '<em>$1</em>');
  return html.replaceAll(/\ue000(\d+)\ue000/g, (_, at) => codes[Number(at)] ?? '');
}
