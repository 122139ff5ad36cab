import type { IncomingHttpHeaders } from 'node:http';
import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { readSecret } from '#core/clients/aws/secrets.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const credentials = { accessKeyId: 'AKIAKEY', secretAccessKey: 'secret', sessionToken: 'session' };
const signer = new SQSClient({ region: 'eu-west-1', credentials }).config;

let asked: { readonly headers: IncomingHttpHeaders; readonly body: string } | undefined;
let answer: { status: number; body: string } = { status: 200, body: '{}' };
const server = perFile(() =>
  serveHttp(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    asked = { headers: request.headers, body };
    response.writeHead(answer.status).end(answer.body);
  }),
);
const endpoint = () => ({ AWS_ENDPOINT_URL: server.url });

const secretOf = (SecretString: unknown) => ({
  status: 200,
  body: JSON.stringify({ SecretString }),
});
const errorOf = (status: number, type: string) => ({
  status,
  body: JSON.stringify({ __type: type }),
});
const read = (field?: string, stage: 'AWSCURRENT' | 'AWSPENDING' = 'AWSCURRENT') =>
  readSecret({ id: 'cyborg/password', ...(field && { field }) }, stage, signer, endpoint());

describe('a secret', () => {
  it('is asked for by its name and stage, in a signed request', async () => {
    answer = secretOf('open sesame');
    expect(await read()).toBe('open sesame');
    expect(JSON.parse(asked?.body ?? '')).toEqual({
      SecretId: 'cyborg/password',
      VersionStage: 'AWSCURRENT',
    });
    expect(asked?.headers).toMatchObject({
      'x-amz-target': 'secretsmanager.GetSecretValue',
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-security-token': 'session',
    });
    const scope = /AKIAKEY\/\d{8}\/eu-west-1\/secretsmanager\/aws4_request, /;
    expect(asked?.headers.authorization).toMatch(scope);
    expect(asked?.headers.authorization).toMatch(/SignedHeaders=content-type;host;x-amz-/);
  });

  it('of several values gives the one of the key', async () => {
    answer = secretOf('{"password":"one","other":2}');
    expect(await read('password')).toBe('one');
    await expect(read('other')).rejects.toThrow('has no text in the key other');
    answer = secretOf('no JSON');
    await expect(read('password')).rejects.toThrow('has no text in the key password');
  });

  it('without a next version has none', async () => {
    answer = errorOf(400, 'com.amazonaws#ResourceNotFoundException');
    expect(await read(undefined, 'AWSPENDING')).toBeUndefined();
    await expect(read()).rejects.toThrow('cyborg/password: 400 ResourceNotFoundException');
  });

  it('that may not be read is no reason to try again, and an outage is', async () => {
    answer = errorOf(400, 'AccessDeniedException');
    await expect(read()).rejects.toMatchObject({ isWorthRetrying: false });
    answer = errorOf(503, 'InternalServiceError');
    await expect(read()).rejects.toMatchObject({ isWorthRetrying: true });
  });
});
