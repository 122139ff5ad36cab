// A file that is replaced as a whole: it holds the old text or the new one, whenever the power fails.

import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Resolves once the new text, and the name it goes by, would survive a crash of the host. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.new`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  const directory = await open(dirname(file), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
