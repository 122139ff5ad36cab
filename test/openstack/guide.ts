// Reads docs/openstack.md, whose commands the suite runs as they are printed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ini, parseIni } from './configuration.ts';

const file = join(import.meta.dirname, '..', '..', 'docs', 'openstack.md');

/** Blocks of code with a name, such as ```` ```sh register ````. */
function blocks(): ReadonlyMap<string, string> {
  const text = readFileSync(file, 'utf8');
  const found = [...text.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)];
  return new Map(found.map(([, name = '', content = '']) => [name, content]));
}

/** @throws if the guide has no such block, so that a renamed block is found */
export function block(name: string): string {
  const content = blocks().get(name);
  if (content === undefined) throw new Error(`docs/openstack.md has no block named ${name}.`);
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
