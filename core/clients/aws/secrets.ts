// Reads a secret of AWS Secrets Manager: one call, signed here. The SDK's client of the service
// would add a tenth to the bundles of the functions that Nova waits for.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

import { createHash, createHmac } from 'node:crypto';
import { ServiceUnavailable } from '#core/clients/http.ts';

export type SecretStage = 'AWSCURRENT' | 'AWSPENDING';

export interface SecretName {
  /** Name or ARN. */
  readonly id: string;
  /** Key in the secret, if it is a JSON object. */
  readonly field?: string;
}

/** As clients of the SDK find them. */
export interface Signer {
  credentials(): Promise<Credentials>;
  region(): Promise<string>;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

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
  const region = await signer.region();
  const url = new URL(endpointOf(env, region));
  const body = JSON.stringify({ SecretId: id, VersionStage: stage });
  const unavailable = (reason: string, isWorthRetrying: boolean) =>
    new ServiceUnavailable('secretsmanager', url.href, reason, isWorthRetrying);
  let response: Response;
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const credentials = await signer.credentials();
    const headers = signedHeaders({ url, body, region, credentials, now: new Date() });
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
  return fieldOf(answer.SecretString, field) ?? fail(unavailable, id, field);
}

function fail(
  unavailable: (reason: string, isWorthRetrying: boolean) => ServiceUnavailable,
  id: string,
  field: string | undefined,
): never {
  const what = field === undefined ? 'text' : `text in the key ${field}`;
  throw unavailable(`secret ${id} has no ${what}`, false);
}

function fieldOf(secret: unknown, field: string | undefined): string | undefined {
  if (typeof secret !== 'string') return undefined;
  if (field === undefined) return secret;
  try {
    const value = (JSON.parse(secret) as Record<string, unknown> | null)?.[field];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

function endpointOf(env: Readonly<Record<string, string | undefined>>, region: string): string {
  const given = env.AWS_ENDPOINT_URL_SECRETS_MANAGER ?? env.AWS_ENDPOINT_URL;
  if (given) return given;
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return `https://${service}.${region}.${suffix}/`;
}

interface Unsigned {
  readonly url: URL;
  readonly body: string;
  readonly region: string;
  readonly credentials: Credentials;
  readonly now: Date;
  /** Of another service than Secrets Manager. */
  readonly call?: Call;
}

export interface Call {
  readonly service: string;
  readonly method: 'GET' | 'POST';
  /** By their names in lower case. */
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

/** Signature version 4 of a request without a query. */
export function signedHeaders(unsigned: Unsigned): Record<string, string> {
  const { url, body, region, credentials, now, call = getSecretValue } = unsigned;
  const time = now.toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${region}/${call.service}/aws4_request`;
  const given: Record<string, string> = {
    ...call.headers,
    host: url.host,
    'x-amz-content-sha256': hashOf(body),
    'x-amz-date': time,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const signed = Object.fromEntries(Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1)));
  const names = Object.keys(signed).join(';');
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  const request = [call.method, url.pathname, '', lines.join(''), names, hashOf(body)].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope, hashOf(request)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  const signature = createHmac('sha256', key).update(toSign).digest('hex');
  const { host: _host, ...headers } = signed;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
