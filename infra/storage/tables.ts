import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  Billing,
  ProjectionType,
  StreamViewType,
  TableClass,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import {
  type TableDefinition,
  type TableName,
  tableName,
  tables,
} from '#core/store/table/tables.ts';
import { constructId } from '#infra/construct-id.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';

export type Tables = Readonly<Record<TableName, TableV2>>;

/**
 * Time in seconds since 1970 after which DynamoDB deletes the row. Enabling it on a table in use
 * would take up to an hour.
 */
const timeToLiveAttribute = 'expires_at';

/** The tables of core/store/table/tables.ts. */
export function createTables(scope: Construct, settings: DeploymentSettings): Tables {
  return Object.fromEntries(
    tables.map((row) => [row.name, createTable(scope, settings, row)]),
  ) as Record<TableName, TableV2>;
}

function createTable(
  scope: Construct,
  { stage, keepData, backUpHistory }: DeploymentSettings,
  row: TableDefinition,
): TableV2 {
  return new TableV2(scope, `${constructId(row.name)}Table`, {
    tableName: tableName(stage, row.name),
    partitionKey: text('pk'),
    ...(row.hasSortKey && { sortKey: text('sk') }),
    globalSecondaryIndexes: row.indexes.map(({ name, partitionKey, sortKey, projection }) => ({
      indexName: name,
      partitionKey: text(partitionKey),
      sortKey: text(sortKey),
      ...(typeof projection === 'string'
        ? { projectionType: ProjectionType[projection] }
        : { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...projection] }),
    })),
    // Launches come in bursts, and an idle cloud should cost nothing.
    billing: Billing.onDemand(),
    ...(row.hasStream && { dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES }),
    timeToLiveAttribute,
    ...(row.isSeldomRead && { tableClass: TableClass.STANDARD_INFREQUENT_ACCESS }),
    // The history is never changed, and its backup costs twice its storage.
    ...((!row.isSeldomRead || backUpHistory) && {
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    }),
    // A rolled-back creation deletes them, cdk destroy keeps them. table-protection.ts protects
    // them from other deletions.
    removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
  });
}

function text(name: string) {
  return { name, type: AttributeType.STRING };
}
