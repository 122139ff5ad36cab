// Reads the settings of this process: the file, the environment, and the operator's drivers.

import { accessSync, constants, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { present } from '#core/shapes/derive/present.ts';
import { checkGates } from './check-gates.ts';
import { type Config, ConfigInvalid, loadConfig, modulesFolder } from './config.ts';
import { loadOperatorModules } from './operator-modules.ts';

const defaultConfigFile = '/etc/cyborg-agent/agent.json';

/** @throws ConfigInvalid with one sentence for each missing or invalid setting */
export async function readConfig(): Promise<Config> {
  const path = process.env.CYBORG_AGENT_CONFIG;
  const file = readIfPresent(path ?? defaultConfigFile);
  if (path && file === undefined) {
    throw new ConfigInvalid(`CYBORG_AGENT_CONFIG: ${path} cannot be read.`);
  }
  const sources = { environment: process.env, ...present({ file }) };
  const folder = modulesFolder(sources);
  const config = loadConfig({
    ...sources,
    hostname: hostname(),
    isReadable,
    modules: await loadOperatorModules(folder),
    modulesFrom: folder.path,
  });
  checkGates(config);
  return config;
}

/** Whether an operator has written settings for this host. */
export function hasSettings(): boolean {
  const { CYBORG_AGENT_CONFIG: path, CYBORG_AGENT_DRIVERS: drivers } = process.env;
  return path !== undefined || drivers !== undefined || isReadable(defaultConfigFile);
}

/** @param file the settings, in place of all of the operator's but where the host's files are */
export function readGivenConfig(file: Readonly<Record<string, unknown>>): Config {
  const { CYBORG_AGENT_SYSFS_ROOT, CYBORG_AGENT_PROC_ROOT } = process.env;
  return loadConfig({
    environment: { CYBORG_AGENT_SYSFS_ROOT, CYBORG_AGENT_PROC_ROOT },
    file: JSON.stringify(file),
    hostname: hostname(),
    isReadable,
  });
}

function readIfPresent(path: string): string | undefined {
  return isReadable(path) ? readFileSync(path, 'utf8') : undefined;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
