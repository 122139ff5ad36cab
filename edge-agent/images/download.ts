// Fetches images and verifies them: size and SHA-256 are computed during the download and must
// match the job. The last few images are kept by digest and verified again before use. A
// presigned URL grants access, so URLs are neither logged nor reported.

import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { connect as connectTls } from 'node:tls';
import { openTunnel } from '#agent/broker/tunnel.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { type ImageSource, isFromSource } from './image-source.ts';

const imagesKept = 4;
/** Longest time without data from the server. */
const silenceMsMax = 30_000;
/** A presigned URL is valid for at most an hour; a gigabyte takes 80 s at 100 Mbit/s. */
const totalMsMax = 15 * 60_000;

/** The image that a job names. */
export interface WantedImage {
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** The image could not be fetched; the message goes into the job's answer. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
}

export interface Downloads {
  /** Lends a file with exactly this image to `use`. @throws DownloadFailed */
  withImage<T>(
    image: WantedImage,
    stop: AbortSignal,
    use: (path: string) => Promise<T>,
  ): Promise<T>;
}

interface DownloadOptions {
  /** URL of an HTTP proxy, if images are reached only through one. */
  readonly proxy?: string | undefined;
  readonly source?: ImageSource | undefined;
}

export function createDownloads(
  directory: string,
  log: Log,
  { proxy, source }: DownloadOptions = {},
): Downloads {
  const inUse = new Map<string, number>();

  async function fetched(image: WantedImage, stop: AbortSignal): Promise<string> {
    if (!isFromSource(image.url, source)) {
      const { protocol, host } = new URL(image.url);
      const allowed = source ?? 'Amazon S3 by https';
      // Without the path and query, which carry the permission.
      throw new DownloadFailed(
        `Images are not fetched from ${protocol}//${host}, but from ${allowed} only.`,
      );
    }
    const path = join(directory, `${image.sha256}.image`);
    if (await isImage(path, image)) {
      log.debug('Image already downloaded', { sha256: image.sha256 });
      await utimes(path, new Date(), new Date());
      return path;
    }
    // A name of its own, because two jobs may fetch the same image at the same time.
    const partial = join(directory, `${randomUUID()}.part`);
    try {
      await receive(image, partial, stop, proxy);
      await rename(partial, path);
      return path;
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  /** Removes old images, except those in use and the newest, and partial files of a crash. */
  async function tidy(): Promise<void> {
    const names = await readdir(directory);
    const idle = names.filter((name) => name.endsWith('.image') && !inUse.has(name.slice(0, 64)));
    const aged = await Promise.all(
      idle.map(async (name) => ({ name, usedMs: (await stat(join(directory, name))).mtimeMs })),
    );
    const old = aged.sort((a, b) => b.usedMs - a.usedMs).slice(imagesKept);
    const partial = inUse.size === 0 ? names.filter((name) => name.endsWith('.part')) : [];
    for (const name of [...old.map((each) => each.name), ...partial]) {
      await rm(join(directory, name), { force: true });
    }
  }

  return {
    withImage: async (image, stop, use) => {
      const { sha256 } = image;
      inUse.set(sha256, (inUse.get(sha256) ?? 0) + 1);
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        const path = await fetched(image, stop).catch((error: unknown) => {
          throw error instanceof DownloadFailed
            ? error
            : new DownloadFailed(`The image could not be fetched: ${reasonOf(error)}`);
        });
        return await use(path);
      } finally {
        const others = (inUse.get(sha256) ?? 1) - 1;
        if (others > 0) inUse.set(sha256, others);
        else inUse.delete(sha256);
        await tidy().catch((error: unknown) =>
          log.warn('Old images not removed', { reason: reasonOf(error) }),
        );
      }
    },
  };
}

async function isImage(path: string, { sha256, bytes }: WantedImage): Promise<boolean> {
  try {
    if ((await stat(path)).size !== bytes) return false;
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    return hash.digest('hex') === sha256;
  } catch {
    return false;
  }
}

async function receive(
  image: WantedImage,
  path: string,
  stop: AbortSignal,
  proxy: string | undefined,
): Promise<void> {
  const limits = AbortSignal.any([stop, AbortSignal.timeout(totalMsMax)]);
  const response = await get(image.url, limits, proxy);
  // Redirects are refused: the presigned URL names the image's location.
  if (response.statusCode !== 200) {
    response.destroy();
    throw new DownloadFailed(`The image could not be fetched: status ${response.statusCode}.`);
  }
  const hash = createHash('sha256');
  let received = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      received += chunk.length;
      if (received > image.bytes) {
        throw new DownloadFailed(`The image has more than the ${image.bytes} bytes announced.`);
      }
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(response, counted, createWriteStream(path, { flags: 'wx', mode: 0o600 }), {
    signal: limits,
  });
  if (received < image.bytes) {
    throw new DownloadFailed(`The image has ${received} bytes, not the ${image.bytes} announced.`);
  }
  if (hash.digest('hex') !== image.sha256) {
    throw new DownloadFailed('The image is not the one announced: its SHA-256 differs.');
  }
}

/** Follows no redirects, uses only the agent's own proxy, and keeps no connection. */
async function get(
  url: string,
  signal: AbortSignal,
  proxy: string | undefined,
): Promise<IncomingMessage> {
  const outgoing = await ask(url, signal, proxy);
  outgoing.on('timeout', () => outgoing.destroy(new Error(`silence for ${silenceMsMax / 1000} s`)));
  // After the response has begun, the response itself reports a broken connection.
  outgoing.on('error', () => {});
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}

async function ask(
  url: string,
  signal: AbortSignal,
  proxy: string | undefined,
): Promise<ClientRequest> {
  const options = { signal, timeout: silenceMsMax, headers: { 'accept-encoding': 'identity' } };
  const { protocol, hostname, port } = new URL(url);
  const isTls = protocol === 'https:';
  const request = isTls ? tlsRequest : plainRequest;
  if (proxy === undefined) {
    return request(url, { ...options, agent: isTls ? new TlsAgent() : new PlainAgent() });
  }
  const target = { host: hostname, port: Number(port) || (isTls ? 443 : 80) };
  const socket = await openTunnel(proxy, target, signal);
  const createConnection = () => (isTls ? connectTls({ socket, servername: hostname }) : socket);
  return request(url, { ...options, createConnection });
}
