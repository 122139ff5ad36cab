// Drivers of the operator: the files `*.mjs` of one folder. Their code runs with the agent's
// rights, so the agent loads only files that no user but root and its own can change.
//
// INVARIANTS
// - Neither a file nor a folder on the way to it can be changed or replaced by another user.
// - That holds for what a module imports, too, now and later.

import { readdirSync, realpathSync } from 'node:fs';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { DriverModule } from '#agent/drivers/contract/define-driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { reasonOf } from '#agent/log.ts';
import { ConfigInvalid, isSettingName } from './config.ts';
import { readStat, refusal, refuseUnsafe, refuseUnsafeAbove } from './safe-file.ts';
import { toolkit } from './toolkit.ts';

interface ModulesFolder {
  readonly path: string;
  /** An absent folder has no drivers, unless the settings name it. */
  readonly isNamed: boolean;
}

const driverName = /^[a-z][a-z0-9_]{0,63}$/;
/** A module does nothing but define a driver. */
const loadMsMax = 10_000;

/** @throws ConfigInvalid with a sentence that names the file and what is wrong with it */
export async function loadOperatorModules({
  path,
  isNamed,
}: ModulesFolder): Promise<readonly DriverModule[]> {
  const folder = readStat(path);
  if (!folder && !isNamed) return [];
  if (!folder?.isDirectory()) throw refusal(path, 'is not a folder');
  refuseUnsafe(path, folder);
  refuseUnsafeAbove(path);
  const modules = new Map<string, { readonly file: string; readonly module: DriverModule }>();
  const names = readdirSync(path).filter((name) => name.endsWith('.mjs'));
  for (const file of names.sort().map((name) => join(path, name))) {
    const stats = readStat(file);
    if (!stats?.isFile()) throw refusal(file, 'is not a regular file');
    refuseUnsafe(file, stats);
    watchImports(file);
    const module = await load(file);
    const other = modules.get(module.name);
    if (other) throw refusal(file, `has the name ${module.name}, which ${other.file} has`);
    modules.set(module.name, { file, module });
  }
  return [...modules.values()].map(({ module }) => module);
}

/** Drivers and what they have imported. */
const watched = new Set<string>();
let areImportsWatched = false;

/**
 * Checks each file that a driver imports, and what that imports, before it is read. An agent that
 * runs on a Node older than 22.15 checks none.
 */
function watchImports(file: string): void {
  watched.add(pathToFileURL(realpathSync(file)).href);
  // Not an import by name, which an older Node does not have.
  if (areImportsWatched || typeof nodeModule.registerHooks !== 'function') return;
  areImportsWatched = true;
  nodeModule.registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      if (!watched.has(context.parentURL ?? '') || !resolved.url.startsWith('file:'))
        return resolved;
      const imported = realpathSync(fileURLToPath(resolved.url));
      const stats = readStat(imported);
      if (!stats?.isFile()) throw refusal(imported, 'is not a regular file');
      refuseUnsafe(imported, stats);
      refuseUnsafeAbove(imported);
      watched.add(resolved.url);
      return resolved;
    },
  });
}

async function load(file: string): Promise<DriverModule> {
  const made = await inTime(() => makeFrom(file)).catch((error: unknown) => {
    throw error instanceof ConfigInvalid ? error : refusal(file, `fails: ${reasonOf(error)}`);
  });
  const { name, configure } = (made ?? {}) as Partial<DriverModule>;
  if (typeof configure !== 'function') throw refusal(file, 'must return defineDriver({ ... })');
  const fault = nameFault(name);
  if (fault) throw refusal(file, fault);
  return made as DriverModule;
}

async function makeFrom(file: string): Promise<unknown> {
  const { default: make } = (await import(pathToFileURL(file).href)) as { default?: unknown };
  if (typeof make !== 'function') {
    throw refusal(file, 'must have a function as its default export');
  }
  return await make(toolkit);
}

async function inTime<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`it is not loaded within ${loadMsMax / 1000} s`);
    timer = setTimeout(reject, loadMsMax, error);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Why a new driver cannot have the name. */
export function nameFault(name: unknown): string | undefined {
  const text = JSON.stringify(name);
  if (typeof name !== 'string' || !driverName.test(name)) {
    return `has the name ${text}; a name begins with a lower case letter, and has lower case letters, digits and _`;
  }
  // The settings take `pci_driver` for `pci`, as Cyborg names it.
  if (name.endsWith('_driver')) return `has the name ${text}; a name must not end with _driver`;
  if (ownDrivers.some((uid) => uid.name === name)) {
    return `has the name ${text}, which a driver of the agent has`;
  }
  return isSettingName(name)
    ? `has the name ${text}, which is that of a setting of the agent`
    : undefined;
}
