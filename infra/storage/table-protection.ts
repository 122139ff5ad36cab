import type { CfnResource } from 'aws-cdk-lib';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import {
  AwsCustomResource,
  AwsCustomResourcePolicy,
  PhysicalResourceId,
} from 'aws-cdk-lib/custom-resources';
import { Construct, type IDependable } from 'constructs';
import type { DeploymentSettings } from '#infra/settings/settings.ts';
import type { Tables } from './tables.ts';

/**
 * Protects the tables from deletion once everything else of the stack exists. A protection of
 * their own would hold from their creation on: the rollback of a failed first deployment could not
 * delete them, and the next attempt would find their names taken.
 */
export class TableProtection extends Construct {
  constructor(scope: Construct, id: string, { tables, settings, release, after }: Protected) {
    super(scope, id);
    if (!settings.keepData) return;
    for (const [name, table] of Object.entries(tables) as [string, TableV2][]) {
      const call = (isProtected: boolean) => ({
        service: 'dynamodb',
        action: 'UpdateTable',
        parameters: { TableName: table.tableName, DeletionProtectionEnabled: isProtected },
        physicalResourceId: PhysicalResourceId.of(`${name}-protection`),
      });
      const protection = new AwsCustomResource(this, name, {
        installLatestAwsSdk: false,
        onUpdate: call(true),
        // Before the tables: a rollback deletes them, cdk destroy keeps them.
        onDelete: call(false),
        policy: AwsCustomResourcePolicy.fromStatements([
          new PolicyStatement({ actions: ['dynamodb:UpdateTable'], resources: [table.tableArn] }),
        ]),
      });
      protection.node.addDependency(...after);
      // It only makes another release repeat the call: someone may have switched it off by hand.
      const made = protection.node.findChild('Resource').node.defaultChild as CfnResource;
      made.addPropertyOverride('Release', release);
    }
  }
}

interface Protected {
  readonly tables: Tables;
  readonly settings: DeploymentSettings;
  /** Changes with each release. */
  readonly release: string;
  readonly after: readonly IDependable[];
}
