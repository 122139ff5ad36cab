// `npm run hosts`: writes test/hosts/README.md from the recorded hosts.
// `npm run hosts:add -- NAME FILE`: adds a record, or makes one of what `lspci -nnk`,
// `udevadm info --export-db` or `dmesg` has printed.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RecordInvalid } from '#agent/record/host-record.ts';
import { printTable, recordsDirectory, tableFile } from './table.ts';
import { toRecord } from './to-record.ts';

const [command, name, file] = process.argv.slice(2);

if (command === 'add') {
  if (!name || !/^[a-z0-9-]{1,64}$/.test(name) || !file) {
    complain('Usage: npm run hosts:add -- NAME FILE; NAME has lower case letters, digits and -.');
    process.exit(2);
  }
  const head = ['What it is', 'Source:', 'Date:', 'Not in it:']
    .map((line) => `# ${line}\n`)
    .join('');
  const added = join(recordsDirectory, `${name}.txt`);
  try {
    writeFileSync(added, head + toRecord(readFileSync(file, 'utf8')), { flag: 'wx' });
  } catch (error) {
    complain(error instanceof RecordInvalid ? `${file}: ${error.message}` : String(error));
    process.exit(1);
  }
  process.stdout.write(`${added}: fill in its first lines, then run npm run hosts.\n`);
} else writeFileSync(tableFile, await printTable());

function complain(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
