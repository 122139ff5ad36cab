// The agent's own small files. Each is replaced atomically: after a power failure it holds the
// old text or the new one.

import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface StateFiles {
  /** Undefined if the file does not exist. */
  read(name: string): Promise<string | undefined>;
  /** Resolves once the new text and its directory entry are durable. */
  replace(name: string, text: string): Promise<void>;
  /** Renames the file to an unused name, and returns that name. */
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

/** Reads beside the agent that owns the files. */
export function onlyReading({ read }: StateFiles): StateFiles {
  return {
    read,
    replace: async (name) => {
      throw new Error(`${name} must not be written by this command.`);
    },
    keepAside: async (name) => name,
  };
}

/** A link, because a rename would overwrite a file that was kept before. */
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
