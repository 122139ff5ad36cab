// Reads a secret of AWS Secrets Manager: one call, with the SDK's signer. The SDK's client of the
// service would add a tenth to the bundles of the functions that Nova waits for.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html

import { SignatureV4 } from '@smithy/signature-v4';
import { ServiceUnavailable } from '#core/clients/http.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

export type SecretStage = 'AWSCURRENT' | 'AWSPENDING';

interface SecretName {
  /** Name or ARN. */
  readonly id: string;
  /** Key in the secret, if it is a JSON object. */
  readonly field?: string;
}

/** The settings of a client of the SDK. */
type Signer = Pick<SignerSettings, 'credentials' | 'sha256'> & {
  readonly region: () => Promise<string>;
};
type SignerSettings = ConstructorParameters<typeof SignatureV4>[0];

const service = 'secretsmanager';
const timeoutMs = 3_000;

/**
 * Undefined if the secret has no version of that stage.
 *
 * @throws ServiceUnavailable with what Secrets Manager says, without the secret
 */
export async function readSecret(
  { id, field }: SecretName,
  stage: SecretStage,
  signer: Signer,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string | undefined> {
  const url = new URL(chooseEndpoint(env, await signer.region()));
  const body = JSON.stringify({ SecretId: id, VersionStage: stage });
  const unavailable = (reason: string, isWorthRetrying: boolean) =>
    new ServiceUnavailable('secretsmanager', url.href, reason, isWorthRetrying);
  let response: Response;
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = await signedHeaders(signer, getSecretValue, url, body);
    response = await fetch(url, { method: 'POST', headers, body, signal });
  } catch (error) {
    throw unavailable(String(error), true);
  }
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (!response.ok) {
    const type = String(answer.__type ?? '').replace(/^.*#/, '');
    // A stage that no version has is answered like a secret that does not exist.
    if (type === 'ResourceNotFoundException' && stage === 'AWSPENDING') return undefined;
    const isTheirs = response.status >= 500 || type.startsWith('Throttling');
    throw unavailable(`secret ${id}: ${response.status} ${type}`, isTheirs);
  }
  return readField(answer.SecretString, field) ?? fail(unavailable, id, field);
}

function fail(
  unavailable: (reason: string, isWorthRetrying: boolean) => ServiceUnavailable,
  id: string,
  field: string | undefined,
): never {
  const part = field === undefined ? 'text' : `text in the key ${field}`;
  throw unavailable(`secret ${id} has no ${part}`, false);
}

function readField(secret: unknown, field: string | undefined): string | undefined {
  if (typeof secret !== 'string') return undefined;
  if (field === undefined) return secret;
  const value = (parseJson(secret) as Record<string, unknown> | null | undefined)?.[field];
  return typeof value === 'string' ? value : undefined;
}

function chooseEndpoint(env: Readonly<Record<string, string | undefined>>, region: string): string {
  const configured = env.AWS_ENDPOINT_URL_SECRETS_MANAGER ?? env.AWS_ENDPOINT_URL;
  if (configured) return configured;
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return `https://${service}.${region}.${suffix}/`;
}

export interface Call {
  readonly service: string;
  readonly method: 'GET' | 'POST';
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

const getSecretValue: Call = {
  service,
  method: 'POST',
  headers: {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'secretsmanager.GetSecretValue',
  },
};

/** Signature version 4. */
export async function signedHeaders(
  { credentials, sha256, region }: Signer,
  { service, method, headers }: Call,
  url: URL,
  body: string,
): Promise<Record<string, string>> {
  const signature = new SignatureV4({ credentials, sha256, service, region });
  const { protocol, hostname, pathname: path } = url;
  const query = Object.fromEntries(url.searchParams);
  const unsigned = { ...headers, host: url.host };
  const request = { method, protocol, hostname, path, query, headers: unsigned, body };
  const { host: _host, ...signed } = (await signature.sign(request)).headers;
  return signed;
}
