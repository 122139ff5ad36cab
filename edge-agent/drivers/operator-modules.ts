// Drivers of the operator: the files `*.mjs` of one folder. Their code runs with the agent's
// rights, so the agent loads only files that no user but root and its own can change.

import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { ConfigInvalid, isSettingName } from '#agent/config.ts';
import { reasonOf } from '#agent/log.ts';
import { readPciFunctions } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { type DriverModule, defineDriver } from './define-driver.ts';
import { ownDrivers } from './index.ts';

export interface ModulesFolder {
  readonly path: string;
  /** An absent folder has no drivers, unless the settings name it. */
  readonly isNamed: boolean;
}

const driverName = /^[a-z][a-z0-9_]{0,63}$/;
/** What a module gets, so that it needs no import. */
export const given = { defineDriver, readPciFunctions, parsePciAddress, z } as const;

/** A module does nothing but define a driver. */
const loadMsMax = 10_000;

/** @throws ConfigInvalid with a sentence that names the file and what is wrong with it */
export async function loadOperatorModules({
  path,
  isNamed,
}: ModulesFolder): Promise<readonly DriverModule[]> {
  const folder = statOf(path);
  if (!folder && !isNamed) return [];
  if (!folder?.isDirectory()) throw refusal(path, 'is not a folder');
  refuseUnsafe(path, folder);
  const modules = new Map<string, { readonly file: string; readonly module: DriverModule }>();
  const names = readdirSync(path).filter((name) => name.endsWith('.mjs'));
  for (const file of names.sort().map((name) => join(path, name))) {
    const stats = statOf(file);
    if (!stats?.isFile()) throw refusal(file, 'is not a regular file');
    refuseUnsafe(file, stats);
    const module = await load(file);
    const other = modules.get(module.name);
    if (other) throw refusal(file, `has the name ${module.name}, which ${other.file} has`);
    modules.set(module.name, { file, module });
  }
  return [...modules.values()].map(({ module }) => module);
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function refuseUnsafe(path: string, { uid, mode }: Stats): void {
  const own = process.getuid?.() ?? 0;
  if (uid !== 0 && uid !== own) {
    throw refusal(path, `belongs to user ${uid}; it must belong to root or to the agent's user`);
  }
  if ((mode & 0o022) !== 0) throw refusal(path, 'must not be writable by its group or by others');
}

async function load(file: string): Promise<DriverModule> {
  const made = await inTime(() => makeFrom(file)).catch((error: unknown) => {
    throw error instanceof ConfigInvalid ? error : refusal(file, `fails: ${reasonOf(error)}`);
  });
  const { name, configure } = (made ?? {}) as Partial<DriverModule>;
  if (typeof configure !== 'function') throw refusal(file, 'must return defineDriver({ ... })');
  const fault = faultOfName(name);
  if (fault) throw refusal(file, fault);
  return made as DriverModule;
}

async function makeFrom(file: string): Promise<unknown> {
  const { default: make } = (await import(pathToFileURL(file).href)) as { default?: unknown };
  if (typeof make !== 'function') {
    throw refusal(file, 'must have a function as its default export');
  }
  return await make(given);
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
export function faultOfName(name: unknown): string | undefined {
  const text = JSON.stringify(name);
  if (typeof name !== 'string' || !driverName.test(name)) {
    return `has the name ${text}; a name begins with a lower case letter, and has lower case letters, digits and _`;
  }
  // The settings take `pci_driver` for `pci`, as Cyborg names it.
  if (name.endsWith('_driver')) return `has the name ${text}; a name must not end with _driver`;
  if (ownDrivers.some((own) => own.name === name)) {
    return `has the name ${text}, which a driver of the agent has`;
  }
  return isSettingName(name)
    ? `has the name ${text}, which is that of a setting of the agent`
    : undefined;
}

function refusal(path: string, fault: string): ConfigInvalid {
  return new ConfigInvalid(`${path} ${fault}.`);
}
