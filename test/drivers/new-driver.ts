// `npm run driver:new -- NAME`: writes a driver that finds PCI functions and passes the kit, with
// its page, an example of its settings, its fixture, its line in drivers/index.ts and its row in
// edge-agent/drivers/README.md. With `--out FOLDER` it writes an operator's driver, which needs no
// change of the agent, with its settings and the types that an editor shows.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nameFault } from '#agent/config/operator-modules.ts';
import { runCommand, WrongArguments } from '#core/command-line/arguments.ts';
import {
  driverText,
  exampleSettings,
  exampleText,
  fixtureText,
  moduleText,
  type Names,
  pageText,
} from './new-driver-texts.ts';

const index = 'edge-agent/drivers/index.ts';

const usage = `npm run driver:new -- NAME [--out FOLDER]

NAME   lower case letters, digits and _, such as acme_npu
--out  writes a driver of your own there, instead of a driver in the agent`;

const root = join(import.meta.dirname, '../..');

async function main(): Promise<void> {
  const options = { out: { type: 'string' } } as const;
  const { positionals, values } = parseArgs({ allowPositionals: true, options });
  const [name, ...others] = positionals;
  if (name === undefined || others.length > 0) throw new WrongArguments('Give one NAME.');
  const fault = nameFault(name);
  if (fault) throw new WrongArguments(`The driver ${fault}.`);
  if (values.out === undefined) writeOwn(namesOf(name));
  else writeModule(name, resolve(values.out));
}

/** The folder is only for its author: no agent needs the types. */
function writeModule(name: string, folder: string): void {
  const file = join(folder, `${name}.mjs`);
  if (existsSync(file)) throw new WrongArguments(`${file} exists already.`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, moduleText(name));
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(exampleSettings)}\n`);
  const types = [join(root, 'infra/driver-types/main.ts'), '--out', join(folder, 'cyborg-driver')];
  const { status, stderr } = spawnSync(process.execPath, types, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The types cannot be written: ${stderr}`);
  console.log(`Wrote ${file}, its settings, and its types in ${folder}/cyborg-driver.`);
  console.log(`Show the types in an editor: cd ${folder} && npm install --no-save ./cyborg-driver`);
  console.log(
    `Check the driver: npm run driver:check -- --module ${file} --settings ${folder}/${name}.json --tree SYSFS`,
  );
}

function writeOwn(names: Names): void {
  const { name } = names;
  const folder = `edge-agent/drivers/${names.file}`;
  const driver = `${folder}/index.ts`;
  const fixture = `test/drivers/${names.file}/fixture.ts`;
  const existing = [folder, fixture].find((path) => existsSync(join(root, path)));
  if (existing) throw new WrongArguments(`${existing} exists already.`);
  mkdirSync(join(root, folder));
  mkdirSync(join(root, dirname(fixture)));
  writeFileSync(join(root, driver), driverText(names));
  writeFileSync(join(root, folder, 'README.md'), pageText(names));
  writeFileSync(join(root, folder, 'settings.example.json'), exampleText(names));
  writeFileSync(join(root, fixture), fixtureText(names));
  edit(index, (text) => withDriver(text, names));
  const seen = 'sysfs trees in tests; not seen on hardware';
  const page = `[\`${name}\`](${names.file}/README.md)`;
  const matrixRow = `| ${name} | ${page} | yes | yes | no | no | no | no | no | ${seen} |`;
  edit('edge-agent/drivers/README.md', (text) => withRow(text, '| hardware | driver |', matrixRow));
  format(driver, fixture, index, `${folder}/settings.example.json`);
  console.log(`Wrote ${folder} and ${fixture}; edit them.`);
  console.log(`Check the driver: npm run driver:check -- ${name}`);
}

function namesOf(name: string): Names {
  const pascal = name.replaceAll(/(^|_)([a-z0-9])/g, (_, _before, first: string) =>
    first.toUpperCase(),
  );
  const camel = pascal.charAt(0).toLowerCase() + pascal.slice(1);
  return { name, file: name.replaceAll('_', '-'), pascal, camel };
}

function edit(path: string, change: (text: string) => string): void {
  const file = join(root, path);
  const before = readFileSync(file, 'utf8');
  const after = change(before);
  if (after === before) throw new Error(`${path} has no place for the driver.`);
  writeFileSync(file, after);
}

function format(...paths: string[]): void {
  const args = ['infra/biome.ts', 'check', '--write', ...paths];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The files cannot be formatted: ${stderr}`);
}

/** With its import, and its line at the end of the list; the formatter sorts and wraps them. */
function withDriver(text: string, { name, file, pascal, camel }: Names): string {
  const lines = text.split('\n');
  const create = `create${pascal}Driver`;
  const settings = `${camel}Settings`;
  lines.splice(
    lines.findLastIndex((line) => line.includes(" from './")) + 1,
    0,
    `import { ${create}, ${settings} } from './${file}/index.ts';`,
  );
  const list = lines.findIndex((line) => line.startsWith('export const ownDrivers'));
  const entry = `  defineDriver({ name: '${name}', settings: ${settings}, create: ${create} }),`;
  lines.splice(lines.indexOf('];', list), 0, entry);
  return lines.join('\n');
}

/** At the end of the table with that head. */
function withRow(text: string, tableHead: string, row: string): string {
  const lines = text.split('\n');
  const head = lines.findIndex((line) => line.startsWith(tableHead));
  if (head === -1) return text;
  const end = lines.findIndex((line, index) => index > head && !line.startsWith('|'));
  lines.splice(end, 0, row);
  return lines.join('\n');
}

await runCommand(usage, main);
