// `npm run driver:types`: the types of an operator's driver, as a package in dist/cyborg-driver or
// the folder that `--out` names. It has declarations only: the agent gives a driver all the rest.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeDeclarations } from '#infra/library/declarations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: { out: { type: 'string', default: `${root}dist/cyborg-driver` } },
});
const folder = resolve(values.out);
const { version, license, dependencies, devDependencies } = JSON.parse(
  readFileSync(`${root}package.json`, 'utf8'),
);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
writeDeclarations(folder, 'infra/driver-types', 'edge-agent/config/toolkit.ts');
const types = './edge-agent/config/toolkit.d.ts';
// The compiler leaves out what its own settings name.
const declared = readFileSync(resolve(folder, types), 'utf8');
writeFileSync(resolve(folder, types), `/// <reference types="node" />\n${declared}`);
copyFileSync(`${root}LICENSE`, `${folder}/LICENSE`);
const manifest = {
  name: 'cyborg-driver',
  version,
  description: 'Types for drivers of the agent of cyborg-serverless',
  license,
  type: 'module',
  types,
  dependencies: { zod: dependencies.zod, '@types/node': devDependencies['@types/node'] },
};
writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
console.log(`${folder}: cyborg-driver ${version}`);
