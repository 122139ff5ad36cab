// Presigned URLs of images in the staging bucket. AWS refuses a URL once the session has ended
// that signed it, whatever validity the URL names; and how long a function's own session still
// lasts is unknown. So URLs are signed in a session of their own.

import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';

/** Longer than host work with an image may take, see `hostWork`. */
const urlSeconds = 45 * 60;
/** The most that AWS grants to a role that assumes another. */
const sessionSeconds = 3600;

interface Session {
  readonly client: S3Client;
  readonly untilMs: number;
}

interface ImageUrls {
  /** @throws any error of AWS */
  sign(Key: string): Promise<string>;
}

/** @param options.readerRole ARN; without one, URLs are signed in the caller's own session */
export function createImageUrls(options: {
  readonly bucket: string;
  readonly usesPathStyle: boolean;
  readonly readerRole?: string;
  readonly clock: () => number;
}): ImageUrls {
  const { bucket, usesPathStyle: forcePathStyle, readerRole, clock } = options;
  let session: Promise<Session> | undefined;

  async function begin(): Promise<Session> {
    if (readerRole === undefined) {
      return { client: new S3Client({ forcePathStyle }), untilMs: Number.POSITIVE_INFINITY };
    }
    const askedMs = clock();
    const { Credentials } = await new STSClient().send(
      new AssumeRoleCommand({
        RoleArn: readerRole,
        RoleSessionName: 'image-urls',
        DurationSeconds: sessionSeconds,
      }),
    );
    const { AccessKeyId, SecretAccessKey, SessionToken } = Credentials ?? {};
    if (!AccessKeyId || !SecretAccessKey) throw new Error(`${readerRole} gave no credentials`);
    const credentials = {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      ...(SessionToken && { sessionToken: SessionToken }),
    };
    const client = new S3Client({ forcePathStyle, credentials });
    return { client, untilMs: askedMs + sessionSeconds * 1000 };
  }

  /** A session that lasts longer than a URL. */
  async function current(): Promise<S3Client> {
    const cached = await session?.catch(() => undefined);
    if (cached && cached.untilMs - clock() > urlSeconds * 1000) return cached.client;
    session = begin();
    return (await session).client;
  }

  return {
    sign: async (Key) => {
      const command = new GetObjectCommand({ Bucket: bucket, Key });
      return getSignedUrl(await current(), command, { expiresIn: urlSeconds });
    },
  };
}
