// HTTP servers of tests, on free ports of loopback.

import { createServer, type RequestListener } from 'node:http';
import { type HttpEngine, serve } from '#local/ports.ts';

export function serveHttp(listener: RequestListener): Promise<HttpEngine> {
  return serve(createServer(listener), { host: '127.0.0.1', port: 0 });
}

/** An AWS Secrets Manager with one secret. @param read its value by the stage of a version */
export function serveSecret(read: (stage: string) => string | undefined): Promise<HttpEngine> {
  return serveHttp(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const SecretString = read(JSON.parse(body).VersionStage);
    if (SecretString !== undefined) response.end(JSON.stringify({ SecretString }));
    else response.writeHead(400).end(JSON.stringify({ __type: 'ResourceNotFoundException' }));
  });
}

/** An AWS IoT that takes every job. */
export const serveJobs = () => serveHttp((_request, response) => response.end('{}'));

/** Settings that name an AWS IoT. */
export function iotAt({ url }: Pick<HttpEngine, 'url'>) {
  return { AWS_ENDPOINT_URL_IOT: url, AWS_ENDPOINT_URL_IOT_DATA_PLANE: url };
}
