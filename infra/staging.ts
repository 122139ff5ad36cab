import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { acknowledge } from './nag.ts';
import { type DeploymentSettings, stagingBucketVariable } from './settings.ts';

/**
 * Where images wait for the hosts that fetch them. Buckets share one space of names with everybody
 * else's, so CloudFormation chooses unless the deployment does. It empties itself, and stays when the
 * stack goes: a bucket that is not empty cannot be deleted.
 */
export function createStagingBucket(scope: Construct, { environment }: DeploymentSettings): Bucket {
  const bucketName = environment[stagingBucketVariable];
  const bucket = new Bucket(scope, 'StagingBucket', {
    ...(bucketName && { bucketName }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    // core/clients/staging.ts brings an image anew before that.
    lifecycleRules: [{ expiration: Duration.days(7) }],
    removalPolicy: RemovalPolicy.RETAIN,
  });
  acknowledge(
    bucket,
    'S1',
    'Images are checked by their digest before they are written, so who fetched one decides nothing; ' +
      "the log would need a bucket of its own. CloudTrail's data events tell where it is asked for.",
  );
  return bucket;
}
