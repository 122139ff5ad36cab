// What the documents have beside VitePress's Markdown.

import type { MarkdownRenderer } from 'vitepress';

/** Links to source files and folders are text: the site has documents only. */
export function sourcesAsText(md: MarkdownRenderer): void {
  const isInSite = (href: string) => /^[a-z]+:|^#|\.md(#|$)/.test(href);
  md.core.ruler.push('sources_as_text', ({ tokens }) => {
    for (const block of tokens) {
      let isInside = true;
      block.children = (block.children ?? []).filter((token) => {
        if (token.type === 'link_open') isInside = isInSite(token.attrGet('href') ?? '');
        return isInside || !/^link_(open|close)$/.test(token.type);
      });
    }
  });
}

/** The link of a heading to itself is named by the text: VitePress names it by its Markdown. */
export function plainLabels(md: MarkdownRenderer): void {
  md.core.ruler.push('plain_labels', ({ tokens }) => {
    for (const { children } of tokens) {
      const anchor = children?.find((token) => token.attrGet('class') === 'header-anchor');
      const texts = children?.filter(({ type }) => type === 'text' || type === 'code_inline') ?? [];
      const text = texts
        .map(({ content }) => content)
        .join('')
        .trim();
      anchor?.attrSet('aria-label', `Permalink to "${text}"`);
    }
  });
}

/** A block of Mermaid becomes the component of `theme/mermaid-drawing.ts`. */
export function drawings(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, at, ...rest) => {
    const { info = '', content = '' } = tokens[at] ?? {};
    if (info.trim() !== 'mermaid') return fence?.(tokens, at, ...rest) ?? '';
    return `<MermaidDrawing text="${md.utils.escapeHtml(content)}" />\n`;
  };
}

/** Two braces are text, not an expression of a Vue template. */
export function plainBraces(md: MarkdownRenderer): void {
  const render = md.render;
  md.render = (...args) => render.apply(md, args).replaceAll('{{', '{&#123;');
}
