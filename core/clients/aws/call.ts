// Calls of AWS services that the project has no client of: a few, before and during a deployment.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type Call, signedHeaders } from './secrets.ts';

/** A service has refused the call. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';
  /** The service's own name of the error, such as `ResourceNotFoundException`. */
  readonly code: string;

  constructor(service: string, code: string, message: string) {
    super(`${service} answers ${code}: ${message}`);
    this.code = code;
  }
}

export interface Aws {
  readonly region: string;
  /** A call of the JSON protocol. */
  json(service: string, target: string, body: unknown): Promise<Record<string, unknown>>;
  /** A call of the older query protocol; resolves to the XML. */
  query(service: string, parameters: Readonly<Record<string, string>>): Promise<string>;
  get(service: string, path: string): Promise<Record<string, unknown>>;
  /** A call of the REST protocol; the path may have a query. */
  post(service: string, path: string, body: unknown): Promise<Record<string, unknown> | null>;
  /** Finds credentials and region as the SDK does. */
  readonly dynamoDb: DynamoDBClient;
}

const timeoutMs = 10_000;

/** @throws Error if no region is set */
export async function openAws(): Promise<Aws> {
  const dynamoDb = new DynamoDBClient({ maxAttempts: 1 });
  const region = await dynamoDb.config.region();

  async function send(call: Call, path: string, body: string): Promise<string> {
    const url = new URL(path, endpointOf(call.service, region));
    const headers = await signedHeaders(dynamoDb.config, call, url, body);
    const response = await fetch(url, {
      method: call.method,
      headers,
      ...(call.method === 'POST' && { body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (!response.ok) throw refusalOf(call.service, response.status, text);
    return text;
  }

  const post = (service: string, headers: Record<string, string>): Call => {
    return { service, method: 'POST', headers };
  };
  return {
    region,
    dynamoDb,
    json: async (service, target, body) => {
      const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target };
      return JSON.parse(await send(post(service, headers), '/', JSON.stringify(body)));
    },
    query: (service, parameters) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return send(post(service, headers), '/', String(new URLSearchParams(parameters)));
    },
    get: async (service, path) =>
      JSON.parse(await send({ service, method: 'GET', headers: {} }, path, '')),
    post: async (service, path, body) => {
      const headers = { 'content-type': 'application/json' };
      return JSON.parse((await send(post(service, headers), path, JSON.stringify(body))) || 'null');
    },
  };
}

function refusalOf(service: string, status: number, text: string): CallRefused {
  const code = /<Code>(.*?)<\/Code>/.exec(text)?.[1] ?? /"__type":\s*"([^"]*)"/.exec(text)?.[1];
  const message = /<Message>(.*?)<\/Message>/s.exec(text)?.[1];
  const reason = message ?? /"[mM]essage":\s*"([^"]*)"/.exec(text)?.[1] ?? '';
  return new CallRefused(service, code?.replace(/^.*#/, '') ?? String(status), reason);
}

function endpointOf(service: string, region: string): string {
  const variable = `AWS_ENDPOINT_URL_${service.toUpperCase()}`;
  const endpoint = process.env[variable] ?? process.env.AWS_ENDPOINT_URL;
  if (endpoint) return endpoint;
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return `https://${service}.${region}.${suffix}/`;
}

/** The text of the first such element of the XML. */
export function elementOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1];
}
