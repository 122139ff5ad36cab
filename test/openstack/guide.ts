// docs/openstack.md, whose commands are run as they stand there: so they cannot be wrong.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ini, parseIni } from './configuration.ts';

const file = join(import.meta.dirname, '..', '..', 'docs', 'openstack.md');

/** Blocks of code that have a name: ```` ```sh register ````. */
function blocks(): ReadonlyMap<string, string> {
  const text = readFileSync(file, 'utf8');
  const found = [...text.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)];
  return new Map(found.map(([, name = '', content = '']) => [name, content]));
}

/** @throws where the guide has no such block, so that none is renamed in one place only */
export function block(name: string): string {
  const content = blocks().get(name);
  if (content === undefined) throw new Error(`docs/openstack.md has no block named ${name}.`);
  return content;
}

/** What the guide has operators put into nova.conf, with these values in it. */
export function novaConfiguration(variables: Readonly<Record<string, string>>): Ini {
  const text = block('nova.conf').replaceAll(/\$([A-Z_]+)/g, (_, name: string) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`docs/openstack.md names $${name} in nova.conf.`);
    return value;
  });
  return parseIni(text);
}
