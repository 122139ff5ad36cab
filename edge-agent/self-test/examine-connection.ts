// Looks at what the agent needs to reach the cloud: its certificate, the broker, and a clock that
// is right. Nothing is sent to the broker, because a second session of the host would end the
// agent's.

import { execFile } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { brokerTls, connectMsMax } from '#agent/broker/broker-tls.ts';
import type { Config } from '#agent/config/config.ts';
import type { Identity, StoredIdentity } from '#agent/identity/stored-identity.ts';
import { reasonOf } from '#agent/log.ts';
import type { Line, Print } from './examine-driver.ts';

type Settings = Pick<
  Config,
  'endpoint' | 'certificateFile' | 'keyFile' | 'authorityFile' | 'proxy'
>;

/** In TLS 1.3 a server refuses a certificate after the client's handshake is done. */
const refusalMs = 1_000;
const dayMs = 24 * 60 * 60 * 1000;

/** Never rejects. */
export async function examineConnection(
  config: Settings,
  stored: Pick<StoredIdentity, 'candidates'>,
  wallMs: () => number,
  print: Print,
): Promise<void> {
  const look = async (driver: string, examine: () => Promise<Observed>) => {
    const [outcome, what] = await examine().catch((error: unknown): Observed => {
      return ['failed', `${reasonOf(error).replace(/\.$/, '')}.`];
    });
    print({ driver, outcome, what });
  };
  const inUse = async () => {
    const candidates = await stored.candidates();
    return (candidates.find(({ kind }) => kind !== 'next') ?? candidates[0]).identity;
  };
  await look('certificate', async () => examineCertificate(await inUse(), wallMs()));
  await look('broker', async () => examineBroker(config, await inUse()));
  await look('clock', examineClock);
}

type Observed = readonly [outcome: Line['outcome'], what: string];

function examineCertificate(identity: Identity, nowMs: number): Observed {
  const certificate = new X509Certificate(identity.certificate);
  const key = createPrivateKey(identity.key);
  const { validFrom, validTo } = certificate;
  if (!certificate.checkPrivateKey(key)) return ['failed', 'Is of another key.'];
  if (Date.parse(validFrom) > nowMs) return ['failed', `Is not valid before ${validFrom}.`];
  const leftMs = Date.parse(validTo) - nowMs;
  if (leftMs < 0) return ['failed', `Has expired: ${validTo}.`];
  return ['seen', `Is valid for ${Math.floor(leftMs / dayMs)} days, until ${validTo}.`];
}

async function examineBroker(config: Settings, identity: Identity): Promise<Observed> {
  const { host, port } = config.endpoint;
  const limit = AbortSignal.timeout(connectMsMax);
  const socket = connect(await brokerTls({ ...config.endpoint, ...config, identity }, limit));
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.once('close', () => reject(new Error(`${host}:${port} has closed the connection`)));
      socket.once('secureConnect', () => setTimeout(resolve, refusalMs));
      socket.setTimeout(connectMsMax, () => {
        reject(new Error(`${host}:${port} does not answer within ${connectMsMax / 1000} s`));
      });
    });
    const proxied = config.proxy ? ' through the proxy' : '';
    return ['seen', `${host}:${port} takes the certificate${proxied}, by ${socket.getProtocol()}.`];
  } finally {
    socket.destroy();
  }
}

/** The kernel's answer, whatever program keeps the time. */
async function examineClock(): Promise<Observed> {
  const args = ['show', '--property=NTPSynchronized', '--value'];
  try {
    const { stdout } = await promisify(execFile)('timedatectl', args, { timeout: connectMsMax });
    return stdout.trim() === 'yes'
      ? ['seen', 'Is synchronised.']
      : ['failed', 'Is not synchronised: TLS and the signatures of images need the right time.'];
  } catch {
    return ['not seen', 'timedatectl does not say whether it is synchronised.'];
  }
}
