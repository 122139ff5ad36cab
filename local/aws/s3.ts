// A fake S3 with what staging needs: PUT in one piece, HEAD and GET, by a signed request or a
// presigned URL, whose signature and expiry are verified. Buckets need not be created.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type HttpEngine, type ListenOptions, serve } from '#local/ports.ts';

interface S3Options extends ListenOptions {
  readonly directory: string;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** @throws PortTaken */
export async function startS3(options: S3Options): Promise<HttpEngine> {
  const { directory, clock = Date.now } = options;
  mkdirSync(directory, { recursive: true });
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const [status, code] =
        error instanceof Refusal ? [error.status, error.code] : [500, 'InternalError'];
      const body = `<Error><Code>${code}</Code><Message>${code}</Message></Error>`;
      if (!response.headersSent) response.writeHead(status, { 'Content-Type': 'application/xml' });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    authorize(request, url, clock());
    // The file's name is a digest, because a key may have any characters.
    const path = join(directory, createHash('sha256').update(url.pathname).digest('hex'));
    switch (request.method) {
      case 'PUT':
        return put(request, response, path);
      case 'HEAD':
      case 'GET':
        return get(request, response, path);
      default:
        throw new Refusal(501, 'NotImplemented');
    }
  }

  return await serve(server, options);
}

/** Accepts every signed request, and verifies the signature of a presigned URL. */
function authorize(request: IncomingMessage, url: URL, now: number): void {
  if (request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 ')) return;
  const signature = Buffer.from(url.searchParams.get('X-Amz-Signature') ?? '');
  const expected = Buffer.from(presignature(request, url));
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    throw new Refusal(403, 'SignatureDoesNotMatch');
  }
  const signedAt = (url.searchParams.get('X-Amz-Date') ?? '').replace(
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
    '$1-$2-$3T$4:$5:$6Z',
  );
  const seconds = Number(url.searchParams.get('X-Amz-Expires'));
  if (!(now < Date.parse(signedAt) + seconds * 1000)) throw new Refusal(403, 'AccessDenied');
}

function presignature(request: IncomingMessage, url: URL): string {
  const scope = (url.searchParams.get('X-Amz-Credential') ?? '').split('/').slice(1);
  const names = (url.searchParams.get('X-Amz-SignedHeaders') ?? '').split(';');
  const query = [...url.searchParams]
    .filter(([key]) => key !== 'X-Amz-Signature')
    .map(([key, value]) => `${encoded(key)}=${encoded(value)}`)
    .sort();
  const canonical = [
    request.method,
    url.pathname,
    query.join('&'),
    ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    names.join(';'),
    'UNSIGNED-PAYLOAD',
  ].join('\n');
  const toSign = [
    'AWS4-HMAC-SHA256',
    url.searchParams.get('X-Amz-Date'),
    scope.join('/'),
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const secret = `AWS4${process.env.AWS_SECRET_ACCESS_KEY}`;
  const key = scope.reduce<string | Buffer>(
    (last, part) => createHmac('sha256', last).update(part).digest(),
    secret,
  );
  return createHmac('sha256', key).update(toSign).digest('hex');
}

function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

async function put(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  // The SDK's framing of a stream with an unknown digest.
  if (request.headers['content-encoding'] === 'aws-chunked')
    throw new Refusal(501, 'NotImplemented');
  const partial = `${path}.${crypto.randomUUID()}`;
  const hash = createHash('sha256');
  await pipeline(
    request,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    },
    createWriteStream(partial),
  );
  const sha256 = hash.digest('base64');
  const announced = request.headers['x-amz-checksum-sha256'];
  if (announced !== undefined && announced !== sha256) {
    rmSync(partial);
    throw new Refusal(400, 'BadDigest');
  }
  const metadata = Object.entries(request.headers).filter(([name]) =>
    name.startsWith('x-amz-meta-'),
  );
  writeFileSync(`${path}.json`, JSON.stringify(Object.fromEntries(metadata)));
  renameSync(partial, path);
  response.writeHead(200, { ETag: `"${sha256}"` }).end();
}

async function get(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  if (!existsSync(path)) throw new Refusal(404, 'NoSuchKey');
  const { size, mtime } = statSync(path);
  response.writeHead(200, {
    ...(JSON.parse(readFileSync(`${path}.json`, 'utf8')) as Record<string, string>),
    'Content-Type': 'application/octet-stream',
    'Content-Length': size,
    'Last-Modified': mtime.toUTCString(),
  });
  if (request.method === 'HEAD') response.end();
  else await pipeline(createReadStream(path), response);
}
