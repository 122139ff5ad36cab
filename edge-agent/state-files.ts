// The agent's own small files: each is replaced as a whole, so that it holds the old text or the
// new one, whenever the power fails.

import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface StateFiles {
  /** Undefined where there is none. */
  read(name: string): Promise<string | undefined>;
  /** Resolves once the new text, and the name it goes by, would survive a crash of the host. */
  replace(name: string, text: string): Promise<void>;
  /** Gives the file a name that no other file has, and returns that name. */
  keepAside(name: string): Promise<string>;
}

export function openStateFiles(directory: string): StateFiles {
  return {
    async read(name) {
      try {
        return await readFile(join(directory, name), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    async replace(name, text) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = join(directory, name);
      await writeDurably(`${file}.new`, text);
      await rename(`${file}.new`, file);
      await syncDirectory(directory);
    },
    async keepAside(name) {
      const file = join(directory, name);
      const kept = await linkedAnew(file);
      await rm(file);
      await syncDirectory(directory);
      return kept;
    },
  };
}

/** A rename would overwrite what was kept before; a link does not. */
async function linkedAnew(file: string): Promise<string> {
  for (let number = 1; ; number++) {
    const kept = `${file}.kept-${number}`;
    try {
      await link(file, kept);
      return kept;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
