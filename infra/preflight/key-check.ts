// The operator's keys in KMS. With a key that AWS cannot use, a deployment fails half-way, or the
// service stops once the key is in use.

import { type Aws, CallRefused } from '#core/clients/aws/call.ts';
import { CheckFailed } from '#core/command-line/checks.ts';
import type { Check } from './check.ts';

interface KeyMetadata {
  readonly KeyState: string;
  readonly KeySpec: string;
  readonly KeyUsage: string;
  /** Seconds since 1970. */
  readonly DeletionDate?: number;
}

export const keyCheck: Check = {
  name: 'keys in KMS',
  remedy: 'Check the permissions kms:DescribeKey and kms:GetKeyPolicy.',
  look: async ({ aws, settings, facts }) => {
    const { dataKeyArn, passwordKeyArn } = settings;
    for (const [setting, arn] of Object.entries({ dataKeyArn, passwordKeyArn })) {
      if (arn !== undefined) await checkKey(aws, setting, arn);
    }
    // Only the key's own account may read its policy.
    if (dataKeyArn?.split(':')[4] === facts.account) await checkLogs(aws, dataKeyArn ?? '');
    return [dataKeyArn, passwordKeyArn].filter(Boolean).join(', ') || "none: AWS's own are used";
  },
};

async function checkKey(aws: Aws, setting: string, arn: string): Promise<void> {
  const { KeyState, KeySpec, KeyUsage, DeletionDate } = await describe(aws, setting, arn);
  const key = `--region ${aws.region} --key-id ${arn}`;
  const enable = `aws kms enable-key ${key}`;
  if (KeyState === 'PendingDeletion') {
    const day = new Date((DeletionDate ?? 0) * 1000).toISOString().slice(0, 10);
    throw new CheckFailed(
      `${setting}: KMS will delete the key on ${day}.`,
      `aws kms cancel-key-deletion ${key} && ${enable}`,
    );
  }
  if (KeyState === 'Disabled') throw new CheckFailed(`${setting}: the key is disabled.`, enable);
  if (KeyState !== 'Enabled') {
    throw new CheckFailed(`${setting}: the key is ${KeyState}.`, `aws kms describe-key ${key}`);
  }
  if (KeySpec !== 'SYMMETRIC_DEFAULT' || KeyUsage !== 'ENCRYPT_DECRYPT') {
    throw new CheckFailed(
      `${setting}: the key is ${KeySpec} for ${KeyUsage}, and must be symmetric, for encryption.`,
      `aws kms create-key --region ${aws.region}`,
    );
  }
}

async function describe(aws: Aws, setting: string, arn: string): Promise<KeyMetadata> {
  try {
    const { KeyMetadata } = await aws.json('kms', 'TrentService.DescribeKey', { KeyId: arn });
    return KeyMetadata as KeyMetadata;
  } catch (error) {
    if (!(error instanceof CallRefused) || error.code !== 'NotFoundException') throw error;
    throw new CheckFailed(
      `${setting}: there is no key ${arn} in ${aws.region}.`,
      `aws kms create-key --region ${aws.region}    # and set ${setting} to its ARN`,
    );
  }
}

/** CloudWatch Logs is the one service that uses the key in its own name. */
async function checkLogs(aws: Aws, KeyId: string): Promise<void> {
  const call = { KeyId, PolicyName: 'default' };
  const { Policy } = await aws.json('kms', 'TrentService.GetKeyPolicy', call);
  const principal = `logs.${aws.region}.amazonaws.com`;
  if (String(Policy).includes(principal)) return;
  throw new CheckFailed(
    `dataKeyArn: the key's policy does not name ${principal}, so no log could be created.`,
    `aws kms put-key-policy --region ${aws.region} --key-id ${KeyId} --policy file://policy.json    # see docs/encryption.md`,
  );
}
