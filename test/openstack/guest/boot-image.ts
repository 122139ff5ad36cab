// The image of a server: one boot sector, ready after seconds. A Linux would take minutes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const source = join(import.meta.dirname, 'sector.s');
const imageBytes = 1024 * 1024;
const textBytes = 32;
const textAt = 0x1de;

/** @param text what this server writes; the sector prints 32 characters of it */
export function bootImage(text: string): Uint8Array<ArrayBuffer> {
  assert.ok(text.length <= textBytes);
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-sector-'));
  try {
    const object = join(directory, 'sector.o');
    const sector = join(directory, 'sector');
    execFileSync('as', ['--32', '-o', object, source]);
    const flat = ['-m', 'elf_i386', '-Ttext', '0x7c00', '--oformat', 'binary'];
    execFileSync('ld', [...flat, '-o', sector, object]);
    const image = Buffer.alloc(imageBytes);
    readFileSync(sector).copy(image);
    image.write(text.padEnd(textBytes, '-'), textAt, 'latin1');
    return new Uint8Array(image);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
