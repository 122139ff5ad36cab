// Reads the settings of this process: the file, the environment, and the operator's drivers.

import { accessSync, constants, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { present } from '#core/shapes/derive/present.ts';
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
  return loadConfig({
    ...sources,
    hostname: hostname(),
    isReadable,
    modules: await loadOperatorModules(folder),
    modulesFrom: folder.path,
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
