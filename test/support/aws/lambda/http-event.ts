// A request in the form in which API Gateway passes it to a function, for tests without a socket.

import type { HttpEvent } from '#functions/http/resource-handler.ts';

export function eventOf(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): HttpEvent {
  const [rawPath = '', rawQueryString = ''] = path.split('?');
  const query = Object.fromEntries(new URLSearchParams(rawQueryString));
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString,
    headers: { host: 'api.test', ...headers },
    ...(rawQueryString !== '' && { queryStringParameters: query }),
    ...(body !== undefined && { body }),
    isBase64Encoded: false,
    requestContext: {
      accountId: '000000000000',
      apiId: 'test',
      domainName: 'api.test',
      domainPrefix: 'api',
      requestId: 'test',
      routeKey: '$default',
      stage: '$default',
      time: '',
      timeEpoch: 0,
      http: { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: '' },
    },
  };
}
