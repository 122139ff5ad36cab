// What a host needs, in one folder that is copied to it: /etc/cyborg-agent/ as the agent expects it.

import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

/** Where the folder's content is on the host. */
export const installedAt = '/etc/cyborg-agent';

export interface HostFolder {
  /** Ours for as long as the folder exists; made at the first call. */
  key(): KeyObject;
  /** What the last enrolment has put there, as PEM. */
  certificate(): string | undefined;
  write(name: 'certificate.pem' | 'authorities.pem' | 'agent.json', text: string): void;
}

export function openHostFolder(path: string): HostFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const read = (name: string) =>
    existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : undefined;
  // Under its name there is all of a file or nothing; settings may hold a proxy's password.
  const write = (name: string, text: string) => {
    const next = join(path, `${name}.next`);
    writeFileSync(next, text, { mode: 0o600, flush: true });
    renameSync(next, join(path, name));
  };
  return {
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
 * The authorities of AWS IoT's endpoints, out of those that Node brings: whoever else Node trusts need
 * not be trusted by a host that speaks to AWS alone.
 * https://docs.aws.amazon.com/iot/latest/developerguide/server-authentication.html
 */
export function amazonAuthorities(): string {
  const own = rootCertificates.filter((pem) =>
    /^CN=(Amazon Root CA [1-4]|Starfield Services Root Certificate Authority - G2)$/m.test(
      new X509Certificate(pem).subject,
    ),
  );
  return `${own.join('\n')}\n`;
}
