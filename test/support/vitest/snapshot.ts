// The whole content of a folder, to see that something has changed nothing there.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Path below the folder → content of the file, or target of the link. */
export function snapshotOf(folder: string): Readonly<Record<string, string>> {
  // Not by a recursive readdir, which follows links: those of sysfs are circular.
  const entriesOf = (directory: string): [string, string][] =>
    readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = join(directory, entry.name);
      const name = relative(folder, path);
      if (entry.isSymbolicLink()) return [[name, `-> ${readlinkSync(path)}`]];
      if (entry.isDirectory()) return [[name, 'a folder'], ...entriesOf(path)];
      return [[name, entry.isFile() ? readFileSync(path, 'latin1') : 'neither file nor folder']];
    });
  return Object.fromEntries(entriesOf(folder));
}
