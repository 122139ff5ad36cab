// The servers that libvirt knows, running or stopped: one definition for each, in a folder. Only
// what has changed since the last look is read again.

import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { shown } from '#agent/guards/uses/uses.ts';
import { type DomainDefinition, readDomain } from './domain-definition.ts';
import { XmlInvalid } from './xml.ts';

export interface DomainsFolder {
  readonly path: string;
  /** An absent folder is a host without libvirt, unless the settings name it. */
  readonly isNamed: boolean;
}

export interface DefinedDomains {
  /** Address of a PCI function → the domain that has it. */
  readonly byFunction: ReadonlyMap<string, string>;
  readonly domains: readonly DomainDefinition[];
  /** Why the functions of all domains are not known, as a clause. */
  readonly unknown?: string;
  /** How many definitions there are; undefined without a folder. */
  readonly count?: number;
}

export type ReadDomains = () => Promise<DefinedDomains>;

export const noDomains: ReadDomains = async () => ({ byFunction: new Map(), domains: [] });

/** A domain with every device that libvirt takes has some 200 KiB. */
const bytesMax = 1024 * 1024;
const definitionsMax = 10_000;

interface Known {
  readonly key: string;
  readonly content: DomainDefinition | string;
}

/** Keep the returned function: it remembers what it has read. */
export function openDomains({ path, isNamed }: DomainsFolder): ReadDomains {
  let cached: ReadonlyMap<string, Known> = new Map();
  return async () => {
    const names = await namesIn(path);
    if (names === undefined && !isNamed) return await noDomains();
    if (typeof names === 'string') return { ...(await noDomains()), unknown: names };
    if (names === undefined) return { ...(await noDomains()), unknown: `${shown(path)} is absent` };
    const now = new Map<string, Known>();
    const byFunction = new Map<string, string>();
    const domains: DomainDefinition[] = [];
    let unknown: string | undefined;
    for (const name of names) {
      const read = await readFresh(join(path, name), cached.get(name));
      if (read === undefined) continue;
      now.set(name, read);
      const { content } = read;
      if (typeof content === 'string') unknown ??= `libvirt's definition ${shown(name)} ${content}`;
      else {
        domains.push(content);
        for (const address of content.functions) byFunction.set(address, content.name);
      }
    }
    cached = now;
    return { byFunction, domains, ...(unknown && { unknown }), count: now.size };
  };
}

/** The names of definitions, why they are not known, or undefined for an absent folder. */
async function namesIn(path: string): Promise<readonly string[] | string | undefined> {
  try {
    // libvirt writes a definition under another name and then renames it.
    const names = (await readdir(path)).filter((name) => name.endsWith('.xml')).sort();
    return names.length > definitionsMax
      ? `${shown(path)} has more than ${definitionsMax} definitions`
      : names;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : `${shown(path)} cannot be read (${code})`;
  }
}

/** The earlier content if the file is the same; undefined for a file that has just gone. */
async function readFresh(file: string, before: Known | undefined): Promise<Known | undefined> {
  try {
    if (before && cacheKey(await stat(file, { bigint: true })) === before.key) return before;
    return await readNow(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    return { key: '', content: `cannot be read (${code})` };
  }
}

async function readNow(file: string): Promise<Known> {
  // A pipe under that name must not stop the agent.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) return { key: '', content: 'is not a file' };
    const size = stats.size > bytesMax ? bytesMax : Number(stats.size);
    const bytes = await readUpTo(handle, size + 1);
    const isSame = cacheKey(await handle.stat({ bigint: true })) === cacheKey(stats);
    return { key: isSame ? cacheKey(stats) : '', content: readContent(bytes) };
  } finally {
    await handle.close();
  }
}

function readContent(bytes: Buffer): Known['content'] {
  if (bytes.length > bytesMax) return 'has more than 1 MiB';
  try {
    return readDomain(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return error instanceof XmlInvalid ? error.message : 'is not UTF-8';
  }
}

async function readUpTo(handle: FileHandle, count: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(count);
  let length = 0;
  while (length < count) {
    const { bytesRead } = await handle.read(buffer, length, count - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

/** Changes with the file: libvirt replaces it, so that it has another number. */
function cacheKey({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}
