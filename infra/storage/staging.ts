import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ArnPrincipal, type IRole, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { acknowledge, acknowledgeWildcard } from '#infra/nag.ts';
import { type DeploymentSettings, stagingBucketVariable } from '#infra/settings/settings.ts';
import { usingDataKey } from './data-key.ts';

/**
 * The bucket of images that hosts fetch. Bucket names are global, so CloudFormation chooses the
 * name unless the deployment does. Objects expire. The bucket stays when the stack is removed,
 * because a bucket with objects cannot be deleted.
 */
export function createStagingBucket(scope: Construct, { environment }: DeploymentSettings): Bucket {
  const bucketName = environment[stagingBucketVariable];
  const bucket = new Bucket(scope, 'StagingBucket', {
    ...(bucketName && { bucketName }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    // core/clients/staging.ts copies an image again before it expires.
    lifecycleRules: [{ expiration: Duration.days(7) }],
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
  });
  acknowledge(
    bucket,
    'S1',
    'Hosts verify images by digest before they write them, so a fetch changes nothing; ' +
      "the log would need another bucket. CloudTrail's data events show accesses where required.",
  );
  return bucket;
}

/** The role whose sessions sign the URLs of images: see core/clients/image-urls.ts. */
export function createImageReader(
  scope: Construct,
  settings: DeploymentSettings,
  bucket: Bucket,
  signer: IRole,
): Role {
  const reader = new Role(scope, 'ImageReader', {
    assumedBy: new ArnPrincipal(signer.roleArn),
    maxSessionDuration: Duration.hours(1),
    ...usingDataKey(settings, ['Decrypt']),
  });
  const images = bucket.arnForObjects('images/*');
  reader.addToPolicy(new PolicyStatement({ actions: ['s3:GetObject'], resources: [images] }));
  acknowledgeWildcard(reader, images, 'Images are staged on demand, named by their ids.');
  return reader;
}
