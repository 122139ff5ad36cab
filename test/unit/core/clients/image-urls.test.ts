// URLs of images are signed in a session that outlives them, whatever the function's own does.

import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createImageUrls } from '#core/clients/image-urls.ts';
import { hostWork } from '#core/domain/host-work/host-work.ts';

const readerRole = 'arn:aws:iam::123456789012:role/reader';
const minuteMs = 60_000;
const sts = mockClient(STSClient);
let nowMs = 0;
let beganMs: number[] = [];
let isRefused = false;

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'OWN');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'own secret');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_SESSION_TOKEN', '');
  nowMs = Date.now();
  beganMs = [];
  isRefused = false;
  sts.reset();
  sts.on(AssumeRoleCommand).callsFake(() => {
    if (isRefused) throw new Error('throttled');
    const number = beganMs.push(nowMs);
    return {
      Credentials: {
        AccessKeyId: `SESSION${number}`,
        SecretAccessKey: 'secret',
        SessionToken: `token${number}`,
      },
    };
  });
});
afterEach(() => vi.unstubAllEnvs());

function urlsOf(more: { readonly readerRole?: string } = {}) {
  return createImageUrls({ bucket: 'images', usesPathStyle: false, clock: () => nowMs, ...more });
}

/** What a URL says of its session and its validity. */
async function signed(urls: ReturnType<typeof urlsOf>) {
  const { searchParams } = new URL(await urls.sign('images/1/2'));
  return {
    key: searchParams.get('X-Amz-Credential')?.split('/')[0],
    token: searchParams.get('X-Amz-Security-Token'),
    seconds: Number(searchParams.get('X-Amz-Expires')),
  };
}

describe('the URL of an image', () => {
  it("is signed in a session of the reader's role, of an hour", async () => {
    expect(await signed(urlsOf({ readerRole }))).toEqual({
      key: 'SESSION1',
      token: 'token1',
      seconds: 2700,
    });
    expect(sts.commandCalls(AssumeRoleCommand)[0]?.args[0].input).toEqual({
      RoleArn: readerRole,
      RoleSessionName: 'image-urls',
      DurationSeconds: 3600,
    });
  });

  it('never outlives its session', async () => {
    const urls = urlsOf({ readerRole });
    for (let asked = 0; asked < 36; asked++, nowMs += 5 * minuteMs) {
      const { key, seconds } = await signed(urls);
      const sessionMs = beganMs[Number(key?.replace('SESSION', '')) - 1] ?? 0;
      expect(nowMs + seconds * 1000).toBeLessThanOrEqual(sessionMs + 60 * minuteMs);
    }
    // Not one for each URL.
    expect(beganMs).toHaveLength(12);
  });

  it('is valid for longer than host work with an image may last', async () => {
    const { seconds } = await signed(urlsOf({ readerRole }));
    const deadlines = Object.values(hostWork).flatMap(({ deadlineSeconds }) =>
      typeof deadlineSeconds === 'number' ? deadlineSeconds : [],
    );
    expect(seconds).toBeGreaterThan(Math.max(...deadlines));
  });

  it('is signed again after AWS refused a session', async () => {
    const urls = urlsOf({ readerRole });
    isRefused = true;
    await expect(urls.sign('images/1/2')).rejects.toThrow('throttled');
    isRefused = false;
    expect((await signed(urls)).key).toBe('SESSION1');
  });

  it('is signed in the own session where no role is given', async () => {
    expect((await signed(urlsOf())).key).toBe('OWN');
    expect(sts.calls()).toHaveLength(0);
  });
});
