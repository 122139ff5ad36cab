// The CDK's feature flags that our template is written for. The stack sets them on itself, so that
// its template is the same in every app, whatever flags the app has for its other stacks.

import type { Node } from 'constructs';

const flags: Readonly<Record<string, unknown>> = {
  '@aws-cdk/core:checkSecretUsage': true,
  '@aws-cdk/core:enablePartitionLiterals': true,
  '@aws-cdk/core:target-partitions': ['aws', 'aws-cn'],
  '@aws-cdk/core:validateSnapshotRemovalPolicy': true,
  '@aws-cdk/aws-iam:minimizePolicies': true,
  '@aws-cdk/aws-dynamodb:resourcePolicyPerReplica': true,
  '@aws-cdk/aws-dynamodb:retainTableReplica': true,
  '@aws-cdk/aws-lambda:useCdkManagedLogGroup': true,
  '@aws-cdk/aws-lambda:recognizeVersionProps': true,
  '@aws-cdk/aws-lambda-nodejs:sdkV3ExcludeSmithyPackages': true,
  '@aws-cdk/aws-lambda-nodejs:useLatestRuntimeVersion': true,
};

/** Sets them for all constructs below; the node must not have any yet. */
export function setFeatureFlags(node: Node): void {
  for (const [name, value] of Object.entries(flags)) node.setContext(name, value);
}
