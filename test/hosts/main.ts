// `npm run hosts`: writes docs/hardware.md from the recorded hosts.
// `npm run hosts:add -- NAME FILE`: adds a record, or what `lspci -nnk` has printed.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseHost, printHost, RecordInvalid } from '#agent/record/host-record.ts';
import { parseListing } from './listing.ts';
import { printTable, recordsDirectory, tableFile } from './table.ts';

const [command, name, file] = process.argv.slice(2);

if (command === 'add') {
  if (!name || !/^[a-z0-9-]{1,64}$/.test(name) || !file) {
    complain('Usage: npm run hosts:add -- NAME FILE; NAME has lower case letters, digits and -.');
    process.exit(2);
  }
  const text = readFileSync(file, 'utf8');
  const head = ['What it is', 'Source:', 'Date:', 'Not in it:']
    .map((line) => `# ${line}\n`)
    .join('');
  const added = join(recordsDirectory, `${name}.txt`);
  try {
    writeFileSync(added, head + toRecord(text), { flag: 'wx' });
  } catch (error) {
    complain(error instanceof RecordInvalid ? error.message : String(error));
    process.exit(1);
  }
  process.stdout.write(`${added}: fill in its first lines, then run npm run hosts.\n`);
} else writeFileSync(tableFile, await printTable());

function toRecord(text: string): string {
  if (!/\[[0-9a-f]{4}:[0-9a-f]{4}\]/.test(text)) return printHost(parseHost(text));
  const functions = parseListing(text);
  return printHost({ functions, masters: {}, routes: {}, mounts: {}, holders: {} });
}

function complain(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
