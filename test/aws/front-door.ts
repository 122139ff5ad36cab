// One endpoint for all services of the local system, as LocalStack has one: the signature of a
// request names its service.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Running } from '#local/ports.ts';

/**
 * Engines by the service name in signatures: `dynamodb`, `sqs`, `s3`, `iot`; and
 * `dynamodb-streams`.
 */
export type Behind = Readonly<Partial<Record<string, string>>>;

/** Services without an engine answer 501. */
export async function startFrontDoor(behind: Behind): Promise<Running & { readonly url: string }> {
  const server = createServer((incoming, response) => {
    const url = behind[serviceOf(incoming)];
    if (url === undefined) {
      incoming.resume();
      const body = {
        __type: 'InternalFailure',
        message: 'This endpoint does not have the service.',
      };
      response.writeHead(501, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify(body));
    } else forward(url, incoming, response);
  });
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * `Credential=<key>/<date>/<region>/<service>/aws4_request`, in a header or, presigned, in the
 * URL. Only S3 takes requests without it.
 */
function serviceOf({ headers, url = '' }: IncomingMessage): string {
  // Requests to DynamoDB Streams bear the signature of DynamoDB.
  if (String(headers['x-amz-target']).startsWith('DynamoDBStreams')) return 'dynamodb-streams';
  const signed = `${headers.authorization ?? ''} ${decodeURIComponent(url)}`;
  return /Credential=[^/]+\/\d{8}\/[^/]+\/([^/]+)\/aws4_request/.exec(signed)?.[1] ?? 's3';
}

function forward(to: string, incoming: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = incoming;
  // The host stays that of the front door, because signatures and queue URLs name it.
  const onward = request(`${to}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
