import { HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, expect, it } from 'vitest';
import { createStaging } from '#core/clients/staging.ts';

const s3 = mockClient(S3Client);
afterEach(() => s3.reset());

const named = (name: string) => Object.assign(new Error(`${name} of S3`), { name });

async function staged(fault: Error): Promise<unknown> {
  s3.on(HeadObjectCommand).rejects(named('NotFound'));
  s3.on(PutObjectCommand).rejects(fault);
  const staging = createStaging({
    glance: {
      download: async () =>
        (async function* () {
          yield new Uint8Array(8);
        })(),
    },
    bucket: 'dev-cyborg-staging',
    usesPathStyle: true,
    clock: Date.now,
  });
  return staging.stage({ id: 'image-1', name: 'a.gbs' } as never).catch((error: unknown) => error);
}

it('names a bucket that does not exist, which no retry creates', async () => {
  expect(await staged(named('NoSuchBucket'))).toMatchObject({
    message: 's3 at s3://dev-cyborg-staging is unavailable: the bucket does not exist',
    isWorthRetrying: false,
  });
});

it('retries any other error of S3', async () => {
  expect(await staged(named('InternalError'))).toMatchObject({ isWorthRetrying: true });
});
