// The agent's settings file, validated with the agent's own rules.

import { resolve } from 'node:path';
import * as z from 'zod';
import { ConfigInvalid, loadConfig } from '#agent/config/config.ts';
import { loadOperatorModules } from '#agent/config/operator-modules.ts';
import type { DriverModule } from '#agent/drivers/contract/define-driver.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { EnrolmentRefused } from './enrol-host.ts';

export interface HostSettings {
  readonly stage: string;
  readonly hostname: string;
  /** `host:port` of the broker. */
  readonly endpoint: string;
  /** Path of the folder on the host. */
  readonly at: string;
  /** URL prefix of the stage's images. */
  readonly images?: string | undefined;
  /** Drivers of the operator that the host will have. */
  readonly modules?: readonly DriverModule[];
}

/**
 * @param text JSON object with what the host may offer
 * @throws EnrolmentRefused
 */
export function agentSettings(host: HostSettings, text: string): string {
  const settings = {
    stage: host.stage,
    hostname: host.hostname,
    endpoint: host.endpoint,
    certificate: `${host.at}/certificate.pem`,
    key: `${host.at}/key.pem`,
    ca: `${host.at}/authorities.pem`,
    ...present({ image_source: host.images }),
    ...parseObject(text),
  };
  const file = JSON.stringify(settings, null, 2);
  try {
    loadConfig({
      environment: {},
      file,
      hostname: host.hostname,
      isReadable: () => true,
      modules: host.modules ?? [],
      modulesFrom: 'the folder that --drivers-dir names',
    });
  } catch (error) {
    if (error instanceof ConfigInvalid) throw new EnrolmentRefused(error.message);
    throw error;
  }
  return `${file}\n`;
}

/** Loads drivers of the operator, as the agent does on the host. @throws EnrolmentRefused */
export async function modulesIn(folder: string): Promise<readonly DriverModule[]> {
  try {
    return await loadOperatorModules({ path: resolve(folder), isNamed: true });
  } catch (error) {
    if (error instanceof ConfigInvalid) throw new EnrolmentRefused(error.message);
    throw error;
  }
}

function parseObject(text: string): Record<string, unknown> {
  const read = z.record(z.string(), z.unknown()).safeParse(parseJson(text));
  if (read.success) return read.data;
  throw new EnrolmentRefused('The settings must be one JSON object.');
}
