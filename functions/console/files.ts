// The console's files, as infra/bundle/bundle-console.ts has written them. A file is served by
// its name in the list of the bundler, so no name of a request becomes a path.

import { readFile, stat } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import {
  type ConsoleEncoding,
  type ConsoleFiles,
  consoleEncodings,
  consoleFiles,
  consoleListName,
} from '#core/contracts/console-files.ts';
import { present } from '#core/shapes/derive/present.ts';

interface ServedFile {
  readonly content: Uint8Array;
  readonly type: string;
  /** Quoted, as in the header. */
  readonly etag: string;
  readonly encoding?: ConsoleEncoding;
}

export interface Files {
  /** Undefined for a name that is not in the list, or while there is no list. */
  find(name: string, acceptEncoding: string | undefined): Promise<ServedFile | undefined>;
}

export function openFiles(directory: URL | string): Files {
  const folder = directory instanceof URL ? directory : pathToFileURL(`${directory}/`);
  const listUrl = new URL(consoleListName, folder);
  let list: ConsoleFiles = {};
  let listedAt = 0;

  /** On one machine the console is bundled while its function runs. */
  async function listed(): Promise<ConsoleFiles> {
    const { mtimeMs } = await stat(listUrl);
    if (mtimeMs === listedAt) return list;
    list = consoleFiles.parse(JSON.parse(await readFile(listUrl, 'utf8')));
    listedAt = mtimeMs;
    return list;
  }

  return {
    find: async (name, acceptEncoding = '') => {
      const all = await listed().catch(ifAbsent<ConsoleFiles>({}));
      const file = Object.hasOwn(all, name) ? all[name] : undefined;
      if (!file) return undefined;
      const encoding = file.encodings.find((each) => accepts(acceptEncoding, each));
      const suffix = encoding ? consoleEncodings[encoding] : '';
      const content = await readFile(new URL(`${name}${suffix}`, folder)).catch(
        ifAbsent(undefined),
      );
      const etag = `"${file.digest}${suffix}"`;
      return content && { content, type: file.type, etag, ...present({ encoding }) };
    },
  };
}

/** `gzip, br;q=1.0`; an encoding with `q=0` is refused. */
function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}

function ifAbsent<T>(otherwise: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return otherwise;
    throw error;
  };
}
