// Makes the host's key on the host, and the request with which an operator gets a certificate for
// it: the key never leaves the host.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openStateFiles } from '#agent/state/state-files.ts';
import {
  certificateRequest,
  keyFingerprint,
} from '#core/contracts/identity/certificate-request.ts';

const keyFile = 'key.pem';
const requestFile = 'request.pem';

interface NewKey {
  readonly requestPath: string;
  readonly fingerprint: string;
}

/** Keeps a key that the folder has already. @throws Error that names the file */
export async function makeKey(folder: string, thing: string): Promise<NewKey> {
  const files = openStateFiles(folder);
  const stored = await files.read(keyFile);
  const key = stored === undefined ? newKey() : parseKey(join(folder, keyFile), stored);
  if (stored === undefined) {
    await files.replace(keyFile, key.export({ type: 'pkcs8', format: 'pem' }).toString());
  } else if (((await stat(join(folder, keyFile))).mode & 0o077) !== 0) {
    throw new Error(`${join(folder, keyFile)} must be readable by its owner only: mode 0600.`);
  }
  await files.replace(requestFile, certificateRequest(thing, key));
  const fingerprint = keyFingerprint(createPublicKey(key));
  return { requestPath: join(folder, requestFile), fingerprint };
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function parseKey(path: string, pem: string): KeyObject {
  const key = toKey(pem);
  if (key?.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(`${path} is not an ECDSA key on P-256: name another folder with --folder.`);
}

function toKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
