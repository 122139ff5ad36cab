// The agent's own small files: each is replaced as a whole, so that it holds the old text or the new
// one, whenever the power fails.

import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

export interface StateFiles {
  /** Undefined where there is none. */
  read(name: string): Promise<string | undefined>;
  /** Resolves once the new text, and the name it goes by, would survive a crash of the host. */
  replace(name: string, text: string): Promise<void>;
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
      const handle = await open(directory, 'r');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
  };
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
