// Reads docs/openstack.md and docs/import.md, whose commands the suite runs as they are printed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ini, parseIni } from './install/configuration.ts';

const documents = join(import.meta.dirname, '..', '..', 'docs');

/** Blocks of code with a name, such as ```` ```sh register ````. */
function blocks(document: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(documents, document), 'utf8');
  const found = [...text.matchAll(/^( *)```\w+ (\S+)\n(.*?)^\1```$/gms)];
  return new Map(found.map(([, , name = '', content = '']) => [name, content]));
}

/** @throws if the guide has no such block, so that a renamed block is found */
export function block(name: string, document = 'openstack.md'): string {
  const content = blocks(document).get(name);
  if (content === undefined) throw new Error(`docs/${document} has no block named ${name}.`);
  return content;
}

/** The guide's settings for nova.conf, with these values for its variables. */
export function novaConfiguration(variables: Readonly<Record<string, string>>): Ini {
  const text = block('nova.conf').replaceAll(/\$([A-Z_]+)/g, (_, name: string) => {
    const value = variables[name];
    if (value === undefined)
      throw new Error(`docs/openstack.md uses unknown $${name} in nova.conf.`);
    return value;
  });
  return parseIni(text);
}

/** The rows of the page's table with this head. */
export function tableRows(head: string, document = 'openstack.md'): readonly string[] {
  const text = readFileSync(join(documents, document), 'utf8');
  const [, table = ''] = text.split(`${head}\n`);
  return (table.split('\n\n')[0] ?? '').split('\n').slice(1);
}
