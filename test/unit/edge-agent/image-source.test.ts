import { describe, expect, it } from 'vitest';
import { createDownloads } from '#agent/images/download.ts';
import { faultOfSource, isFromSource } from '#agent/images/image-source.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const bucket = 'https://stage-images.s3.eu-central-1.amazonaws.com/';

const directory = directoryPerTest();

describe('an image is fetched', () => {
  it.each([
    [`${bucket}images/1/2?X-Amz-Signature=a`, bucket],
    ['http://127.0.0.1:9326/stage-cyborg-staging/images/1', 'http://127.0.0.1:9326/'],
    ['https://s3.example.org/stage/images/1', 'https://s3.example.org/stage/'],
    [`${bucket}images/1`, undefined],
    [
      'https://b.bucket.vpce-1-a.s3.us-east-1.vpce.amazonaws.com/k',
      'https://b.bucket.vpce-1-a.s3.us-east-1.vpce.amazonaws.com/',
    ],
    ['https://s3.cn-north-1.amazonaws.com.cn/stage/k', undefined],
  ])('from %s where the source is %s', (url, source) => {
    expect(isFromSource(url, source)).toBe(true);
  });
});

describe('an image is not fetched', () => {
  it.each([
    ['http://169.254.169.254/latest/meta-data/', bucket],
    ['http://169.254.169.254/latest/meta-data/', undefined],
    ['http://stage-images.s3.eu-central-1.amazonaws.com/images/1', undefined],
    ['http://stage-images.s3.eu-central-1.amazonaws.com/images/1', bucket],
    ['https://other.s3.eu-central-1.amazonaws.com/images/1', bucket],
    ['https://stage-images.s3.eu-central-1.amazonaws.com.example.org/', bucket],
    ['https://s3.example.org/amazonaws.com', undefined],
    ['https://evil-s3.amazonaws.com.example.org/', undefined],
    ['https://stage-images.s3.eu-central-1.amazonaws.com:8443/', undefined],
    ['https://user@stage-images.s3.eu-central-1.amazonaws.com/', bucket],
    ['https://s3.example.org/stage/../other/images/1', 'https://s3.example.org/stage/'],
    ['https://s3.example.org/stage/..%2Fother/1', 'https://s3.example.org/stage/'],
    ['http://127.0.0.1:9326/images/1', undefined],
  ])('from %s where the source is %s', (url, source) => {
    expect(isFromSource(url, source)).toBe(false);
  });

  it('and the reason has the host, without the signature', async () => {
    const downloads = createDownloads(directory, silentLog, { source: bucket });
    const url = 'http://169.254.169.254/latest/?X-Amz-Signature=secret';
    const image = { url, sha256: 'a'.repeat(64), bytes: 1 };
    await expect(
      downloads.withImage(image, new AbortController().signal, async () => {}),
    ).rejects.toThrow(
      `Images are not fetched from http://169.254.169.254, but from ${bucket} only.`,
    );
  });
});

it.each([
  ['stage-images', 'must be a URL'],
  ['http://s3.example.org/stage/', 'must be https, or http of this host itself'],
  ['https://s3.example.org/stage', 'must end with a slash'],
  ['https://s3.example.org/?a', 'must be a URL without user, query or fragment'],
  [bucket, undefined],
  ['http://localhost:9326/', undefined],
])('the source %s: %s', (source, fault) => {
  expect(faultOfSource(source)).toBe(fault);
});
