// The examples on a page of documentation: its blocks of shell, in order.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param page below docs/ */
export function examplesOf(page: string): { readonly curl: string[]; readonly client: string[] } {
  const text = readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const isClient = (block: string) => block.includes('openstack ');
  return {
    curl: blocks.filter((block) => !isClient(block)),
    client: blocks.filter(isClient),
  };
}

/** Blocks with a name, such as ```` ```sh enrol ````, in order. @param page below docs/ */
export function namedBlocks(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8');
  const found = [...text.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)];
  return new Map(found.map(([, name = '', content = '']) => [name, content]));
}
