// The compute node of the scenarios: its identity, and the role played on it.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBroker } from '#local/aws/broker.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { type Played, play, type Stage } from '#test/ansible/play.ts';
import { lacks } from './scenario.ts';

export const settingsFile = '/etc/cyborg-agent/agent.json';
/** In the settings, as a proxy's password may be. */
export const proxyPassword = 'of-the-proxy';

export interface Host {
  /** Fills the folder as `cyborg-ops enrol add` does. @returns its path */
  enrol(endpoint: string): string;
  startBroker(): Promise<{ readonly endpoint: string; stop(): Promise<void> }>;
  play(given: Readonly<Record<string, unknown>>, options?: readonly string[]): Promise<Played>;
}

export function createHost(stage: Stage): Host {
  const certificates = openCertificates(join(stage.directory, 'certificates'));
  const files = certificates.issueHostCertificate('test:cmp1:example');
  const secrets = [proxyPassword, keyLineOf(files.keyFile)];
  return {
    enrol(endpoint) {
      const folder = join(stage.directory, 'identity');
      mkdirSync(folder, { recursive: true });
      copyFileSync(files.keyFile, join(folder, 'key.pem'));
      copyFileSync(files.certificateFile, join(folder, 'certificate.pem'));
      copyFileSync(certificates.server.authorityFile, join(folder, 'authorities.pem'));
      const at = '/etc/cyborg-agent';
      const settings = {
        stage: 'test',
        hostname: 'cmp1.example',
        endpoint,
        certificate: `${at}/certificate.pem`,
        key: `${at}/key.pem`,
        ca: `${at}/authorities.pem`,
        drivers: ['fake'],
      };
      writeFileSync(join(folder, 'agent.json'), JSON.stringify(settings));
      return folder;
    },
    async startBroker() {
      const deliver = async () => {};
      const broker = await startBroker({
        stage: 'test',
        certificates: certificates.server,
        deliver,
      });
      return { endpoint: `localhost:${broker.port}`, stop: () => broker.stop() };
    },
    async play(given, options = []) {
      const played = await play(stage, 'cyborg_agent', given, ['-vv', '--diff', ...options]);
      for (const secret of secrets) lacks(played.output, secret);
      return played;
    },
  };
}

/** A line in the middle of the key. */
function keyLineOf(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n')[1] ?? 'no key';
}
