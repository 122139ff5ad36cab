// Copies images from Glance to S3. Hosts fetch them by a presigned URL, and need neither Glance
// nor a token.

import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { ServiceUnavailable } from './http.ts';
import { createImageUrls } from './image-urls.ts';
import { type Glance, type GlanceImage, ImageUnusable } from './openstack/glance.ts';

/** The image as a job names it. */
interface StagedImage {
  /** Valid for 45 minutes. */
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface Staging {
  /** Copies the image to S3 if it is not there. @throws ImageUnusable, ServiceUnavailable */
  stage(image: GlanceImage): Promise<StagedImage>;
}

export const imageBytesMax = 1024 ** 3;
/** Objects expire after a week; an older one is copied again before a URL is given out. */
const keptMs = 6 * 24 * 3600 * 1000;

type Content = Omit<StagedImage, 'url'>;

export function createStaging(options: {
  readonly glance: Pick<Glance, 'download'>;
  readonly bucket: string;
  readonly usesPathStyle: boolean;
  /** ARN of the role whose session signs URLs. */
  readonly readerRole?: string;
  readonly clock: () => number;
  readonly bytesMax?: number;
}): Staging {
  const { glance, bucket, usesPathStyle, clock, bytesMax = imageBytesMax } = options;
  const urls = createImageUrls(options);
  let made: S3Client | undefined;
  const client = () => {
    made ??= new S3Client({ forcePathStyle: usesPathStyle });
    return made;
  };
  // One image at a time: the disk has room for one, and a second request for the same image finds
  // it in S3.
  let turn: Promise<unknown> = Promise.resolve();

  async function stage(image: GlanceImage): Promise<StagedImage> {
    if ((image.bytes ?? 0) > bytesMax) throw tooLarge(image, bytesMax);
    // The data of an active image never changes; the hash detects an image that was recreated
    // with the same id.
    const Key = `images/${image.id}/${image.hash?.value ?? 'unhashed'}`;
    const content = (await staged(Key)) ?? (await bring(image, Key));
    return { url: await s3(urls.sign(Key)), ...content };
  }

  async function staged(Key: string): Promise<Content | undefined> {
    const command = new HeadObjectCommand({ Bucket: bucket, Key });
    const head = await s3(client().send(command).catch(absent));
    const sha256 = head?.Metadata?.sha256;
    const madeAt = head?.LastModified?.getTime() ?? 0;
    if (!sha256 || !head.ContentLength || clock() - madeAt > keptMs) return undefined;
    return { sha256, bytes: head.ContentLength };
  }

  /** Through the disk, since S3 needs size and digest before the upload. */
  async function bring(image: GlanceImage, Key: string): Promise<Content> {
    const path = join(tmpdir(), `image-${randomUUID()}`);
    try {
      const content = await receive(await glance.download(image.id), image, path, bytesMax);
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key,
        Body: createReadStream(path),
        ContentLength: content.bytes,
        ChecksumSHA256: Buffer.from(content.sha256, 'hex').toString('base64'),
        Metadata: { sha256: content.sha256 },
      });
      await s3(client().send(command));
      return content;
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Any error of S3 is retried, unless an operator has to create the bucket. */
  async function s3<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if ((error as Error).name === 'NoSuchBucket') {
        throw new ServiceUnavailable('s3', `s3://${bucket}`, 'the bucket does not exist', false);
      }
      throw new ServiceUnavailable('s3', `s3://${bucket}`, String(error), true);
    }
  }

  return {
    stage: (image) => {
      const outcome = turn.then(() => stage(image));
      turn = outcome.catch(() => {});
      return outcome;
    },
  };
}

function absent(error: { readonly name?: string }): undefined {
  if (error.name !== 'NotFound') throw error;
  return undefined;
}

async function receive(
  data: AsyncIterable<Uint8Array>,
  image: GlanceImage,
  path: string,
  bytesMax: number,
): Promise<Content> {
  const sha256 = createHash('sha256');
  const theirs = createHash(image.hash?.algorithm ?? 'sha256');
  let bytes = 0;
  await pipeline(
    data,
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > bytesMax) throw tooLarge(image, bytesMax);
        sha256.update(chunk);
        theirs.update(chunk);
        yield chunk;
      }
    },
    createWriteStream(path, { flags: 'wx', mode: 0o600 }),
  );
  if (bytes === 0) throw new ImageUnusable(`Image ${image.id} is empty.`);
  if (image.hash && theirs.digest('hex') !== image.hash.value) {
    throw new ImageUnusable(
      `The data of image ${image.id} is not what Glance took: its ${image.hash.algorithm} differs.`,
    );
  }
  return { sha256: sha256.digest('hex'), bytes };
}

function tooLarge({ id }: GlanceImage, bytesMax: number): ImageUnusable {
  return new ImageUnusable(`Image ${id} is larger than ${bytesMax} bytes.`);
}
