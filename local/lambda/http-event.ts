// Converts between HTTP and payload format 2.0 of API Gateway's HTTP API.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import * as z from 'zod';

export function httpEvent(request: IncomingMessage, body: Buffer): APIGatewayProxyEventV2 {
  const [path = '/', query = ''] = splitOnce(request.url ?? '/', '?');
  const method = request.method ?? 'GET';
  const { headers, cookies } = headersOf(request);
  const rawPath = decodedPath(path);
  const now = new Date();
  // A client of HTTP/1.0 may send no host; API Gateway passes its own name then.
  headers.host ||= `${request.socket.localAddress}:${request.socket.localPort}`;
  const { host } = headers;
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString: query,
    ...(cookies.length > 0 && { cookies }),
    headers,
    ...(query !== '' && { queryStringParameters: queryOf(query) }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: host.replace(/:\d+$/, ''),
      domainPrefix: 'local',
      http: {
        method,
        path: rawPath,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: crypto.randomUUID(),
      routeKey: '$default',
      stage: '$default',
      time: logTime(now),
      timeEpoch: now.getTime(),
    },
    ...bodyOf(body, headers['content-type'] ?? ''),
  };
}

/**
 * API Gateway passes the decoded path, although the field is called `rawPath`. A path that cannot
 * be decoded stays unchanged.
 */
function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function headersOf(request: IncomingMessage) {
  const headers: Record<string, string> = {};
  let cookies: string[] = [];
  for (const [name, values = []] of Object.entries(request.headersDistinct)) {
    if (name === 'cookie') cookies = values.flatMap((value) => value.split(/;\s*/));
    else headers[name] = values.join(',');
  }
  headers['x-forwarded-proto'] = 'http';
  return { headers, cookies };
}

function queryOf(query: string): Record<string, string> {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.join(',')]));
}

const textTypes = /^(text\/|application\/(json|javascript|xml|[a-z0-9.-]+\+(json|xml))($|;))/i;

function bodyOf(body: Buffer, contentType: string) {
  if (body.length === 0) return { isBase64Encoded: false };
  return textTypes.test(contentType)
    ? { body: body.toString(), isBase64Encoded: false }
    : { body: body.toString('base64'), isBase64Encoded: true };
}

/** The time in the format of a web server's log: `12/Mar/2020:19:03:58 +0000`. */
function logTime(time: Date): string {
  const [, day, month, year, clock] = /, (\d+) (\w+) (\d+) ([\d:]+)/.exec(time.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${clock} +0000`;
}

const structuredResult = z.object({
  statusCode: z.coerce.number().int().min(200).max(599),
  headers: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  body: z.string().optional(),
  isBase64Encoded: z.boolean().optional(),
  cookies: z.array(z.string()).optional(),
});

/**
 * Writes the result of a function. An object without `statusCode` is itself the JSON body.
 * @throws ZodError for an invalid response, for which API Gateway answers 500
 */
export function writeResult(response: ServerResponse, result: unknown, requestId: string): void {
  const isStructured = typeof result === 'object' && result !== null && 'statusCode' in result;
  const { statusCode, headers, body, isBase64Encoded, cookies } = isStructured
    ? structuredResult.parse(result)
    : {
        statusCode: 200,
        headers: { 'content-type': 'application/json' },
        body: typeof result === 'string' ? result : JSON.stringify(result ?? null),
        isBase64Encoded: false,
        cookies: undefined,
      };
  const bytes = Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
  response.statusCode = statusCode;
  response.setHeader('apigw-requestid', requestId);
  response.setHeader('content-type', 'text/plain;charset=UTF-8');
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, `${value}`);
  if (cookies !== undefined) response.setHeader('set-cookie', cookies);
  const hasBody = statusCode !== 204 && statusCode !== 304;
  const isHead = response.req.method === 'HEAD';
  if (!hasBody) response.removeHeader('content-type');
  else if (!isHead) response.setHeader('content-length', bytes.length);
  response.end(hasBody ? bytes : undefined);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
