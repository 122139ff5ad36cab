// The agent's settings file, validated with the agent's own rules.

import * as z from 'zod';
import { ConfigInvalid, loadConfig } from '#agent/config.ts';
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
}

/**
 * @param given JSON object with what the host may offer
 * @throws EnrolmentRefused
 */
export function agentSettings(host: HostSettings, given: string): string {
  const settings = {
    stage: host.stage,
    hostname: host.hostname,
    endpoint: host.endpoint,
    certificate: `${host.at}/certificate.pem`,
    key: `${host.at}/key.pem`,
    ca: `${host.at}/authorities.pem`,
    ...(host.images !== undefined && { image_source: host.images }),
    ...objectOf(given),
  };
  const file = JSON.stringify(settings, null, 2);
  try {
    loadConfig({ environment: {}, file, hostname: host.hostname, isReadable: () => true });
  } catch (error) {
    if (error instanceof ConfigInvalid) throw new EnrolmentRefused(error.message);
    throw error;
  }
  return `${file}\n`;
}

function objectOf(text: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new EnrolmentRefused('The settings must be one JSON object.');
  }
}
