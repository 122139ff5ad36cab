// The sidebar has the groups, the links and the order of docs/README.md.

import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import type { DefaultTheme } from 'vitepress';

const index = new URL('../../docs/README.md', import.meta.url);

export function readSidebar(): DefaultTheme.SidebarItem[] {
  const [, ...groups] = readFileSync(index, 'utf8').split(/^## /m);
  return groups.map((group) => ({
    text: group.split('\n')[0] ?? '',
    items: [...group.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)].map(([, name = '', link = '']) => ({
      text: capitalized(name.replaceAll('`', '')),
      link: `/${normalize(join('docs', link)).replace(/\.md\b/, '.html')}`,
    })),
  }));
}

/** Links within a sentence begin with a small letter; names of commands stay as they are. */
function capitalized(name: string): string {
  return name.includes('-') ? name : `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}
