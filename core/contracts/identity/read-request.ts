// Reads a certificate request (PKCS #10): the subject and the key. A subject must be a common name
// alone: AWS copies it into the certificate.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { readParts } from './der.ts';

interface ReadRequest {
  readonly commonName: string;
  readonly publicKey: KeyObject;
}

/** The message completes a sentence: why the text is not a certificate request. */
export class RequestInvalid extends Error {
  override readonly name = 'RequestInvalid';
}

/**
 * The key of a host's request. @throws RequestInvalid unless it is of this thing, with a key that
 * AWS IoT signs:
 * https://docs.aws.amazon.com/iot/latest/apireference/API_CreateCertificateFromCsr.html
 */
export function checkHostRequest(pem: string, thing: string): KeyObject {
  const { commonName, publicKey } = readRequest(pem);
  if (commonName !== thing) {
    const shown = commonName.replaceAll(/[^\x20-\x7e]/g, '?');
    throw new RequestInvalid(`it is of ${shown}, not of ${thing}`);
  }
  if (isStrong(publicKey)) return publicKey;
  throw new RequestInvalid('its key must be ECDSA on P-256 or P-384, or RSA of 2048 bits or more');
}

function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { namedCurve = '', modulusLength = 0 } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'ec') return ['prime256v1', 'secp384r1'].includes(namedCurve);
  return asymmetricKeyType === 'rsa' && modulusLength >= 2048;
}

const commonNameIdentifier = '550403';

/** @throws RequestInvalid also if the request is not signed with its own key */
export function readRequest(pem: string): ReadRequest {
  const body = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END/.exec(pem)?.[1];
  if (body === undefined) throw new RequestInvalid('it has no BEGIN CERTIFICATE REQUEST');
  try {
    const [contents, , signature] = readParts(readParts(Buffer.from(body, 'base64'))[0]?.value);
    const [, subject, keyInfo] = readParts(contents?.value);
    const publicKey = createPublicKey({
      key: keyInfo?.whole ?? Buffer.of(),
      format: 'der',
      type: 'spki',
    });
    // A bit string begins with the number of its unused bits.
    const bits = signature?.value.subarray(1) ?? Buffer.of();
    if (!verify('sha256', contents?.whole ?? Buffer.of(), publicKey, bits)) {
      throw new RequestInvalid('its signature, which must be with SHA-256, does not match its key');
    }
    return { commonName: readCommonName(subject?.value), publicKey };
  } catch (error) {
    if (error instanceof RequestInvalid) throw error;
    throw new RequestInvalid(`it is damaged: ${(error as Error).message}`);
  }
}

function readCommonName(subject: Buffer | undefined): string {
  const names = readParts(subject);
  const attributes = readParts(names[0]?.value);
  const [identifier, text] = readParts(attributes[0]?.value);
  const isAlone = names.length === 1 && attributes.length === 1;
  if (!isAlone || identifier?.value.toString('hex') !== commonNameIdentifier) {
    throw new RequestInvalid('its subject must be one common name');
  }
  return text?.value.toString('utf8') ?? '';
}
