// An operator's own key in KMS, under which AWS stores the data of the stack. It is set on the
// resources of CloudFormation: a queue or table that the CDK knows to have a key grants its users
// more calls of KMS than AWS makes for them.

import { CfnResource, type Stack } from 'aws-cdk-lib';
import { CfnGlobalTable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnRole, PolicyDocument, PolicyStatement, type RoleProps } from 'aws-cdk-lib/aws-iam';
import { CfnLogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import type { KeyAction } from '#infra/access.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';

/**
 * Properties of a role that may use the key, if there is one. The policy is a part of the role
 * itself: one of its own would name the role's tables and queues, and so change after them.
 */
export function usingDataKey(
  { dataKeyArn }: DeploymentSettings,
  actions: readonly KeyAction[],
): Pick<RoleProps, 'inlinePolicies'> {
  if (!dataKeyArn || actions.length === 0) return {};
  const statement = new PolicyStatement({
    actions: actions.map((action) => `kms:${action}`),
    resources: [dataKeyArn],
  });
  return { inlinePolicies: { DataKey: new PolicyDocument({ statements: [statement] }) } };
}

/** Stores everything in the stack's tables, queues, logs and buckets under the key. */
export function encryptUnder(dataKeyArn: string, stack: Stack): void {
  const all = stack.node.findAll().filter((each) => CfnResource.isCfnResource(each));
  const roles = all.filter((each) => each instanceof CfnRole);
  for (const each of all) {
    if (each instanceof CfnLogGroup) each.kmsKeyId = dataKeyArn;
    else if (setKey(each, dataKeyArn)) {
      // An update of a live stage: the roles may use the key before the data need it.
      for (const role of roles) each.addResourceDependency(role);
    }
  }
}

/** Whether it holds data that roles read. */
function setKey(resource: CfnResource, dataKeyArn: string): boolean {
  if (resource instanceof CfnGlobalTable) {
    resource.addPropertyOverride('SSESpecification', { SSEEnabled: true, SSEType: 'KMS' });
    resource.addPropertyOverride('Replicas.0.SSESpecification', { KMSMasterKeyId: dataKeyArn });
  } else if (resource instanceof CfnQueue) {
    resource.kmsMasterKeyId = dataKeyArn;
    resource.sqsManagedSseEnabled = undefined;
  } else if (resource instanceof CfnBucket) {
    const byDefault = { sseAlgorithm: 'aws:kms', kmsMasterKeyId: dataKeyArn };
    resource.bucketEncryption = {
      serverSideEncryptionConfiguration: [
        // Saves a request to KMS for each object.
        { bucketKeyEnabled: true, serverSideEncryptionByDefault: byDefault },
      ],
    };
  } else return false;
  return true;
}
