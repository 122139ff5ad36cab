// The files that a host needs, in one folder that is copied to /etc/cyborg-agent/ on the host.

import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

/** Path of the folder's content on the host. */
export const installedAt = '/etc/cyborg-agent';

export interface HostFolder {
  hasKey(): boolean;
  /** The folder's key; created at the first call. */
  key(): KeyObject;
  /** PEM of the certificate of the last enrolment. */
  certificate(): string | undefined;
  write(name: 'certificate.pem' | 'authorities.pem' | 'agent.json', text: string): void;
}

export function openHostFolder(path: string): HostFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const read = (name: string) =>
    existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : undefined;
  // Writes atomically. Mode 0600, because settings can hold a proxy's password.
  const write = (name: string, text: string) => {
    const next = join(path, `${name}.next`);
    writeFileSync(next, text, { mode: 0o600, flush: true });
    renameSync(next, join(path, name));
  };
  return {
    hasKey: () => existsSync(join(path, 'key.pem')),
    key() {
      const stored = read('key.pem');
      if (stored !== undefined) return createPrivateKey(stored);
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      write('key.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
      return privateKey;
    },
    certificate: () => read('certificate.pem'),
    write,
  };
}

/**
 * The authorities of AWS IoT's endpoints, from Node's list: a host that connects to AWS alone
 * need not trust the others.
 * https://docs.aws.amazon.com/iot/latest/developerguide/server-authentication.html
 */
export function amazonAuthorities(): string {
  const roots = rootCertificates.filter((pem) =>
    /^CN=(Amazon Root CA [1-4]|Starfield Services Root Certificate Authority - G2)$/m.test(
      new X509Certificate(pem).subject,
    ),
  );
  return `${roots.join('\n')}\n`;
}
