// The ARQs that have a copy of a profile's groups, from an index, which may lack one that was
// just created.

import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { shardsFor } from './rows/shards.ts';
import type { Documents } from './table/documents.ts';
import { queryAll } from './table/reads.ts';

export interface ProfileUses {
  /** Whether ARQs of that profile are stored. */
  isProfileInUse(name: string): Promise<boolean>;
  /** How many ARQs of that profile are stored. */
  arqsOfProfile(name: string): Promise<number>;
}

export function profileUses(client: Documents, table: string): ProfileUses {
  return {
    async isProfileInUse(name) {
      const counts = await Promise.all(
        shardsFor(name).map(async (shard) => {
          const { Items = [] } = await client.send(
            new QueryCommand({
              TableName: table,
              IndexName: 'by-profile',
              KeyConditionExpression: 'profile_shard = :shard',
              ExpressionAttributeValues: { ':shard': shard },
              Limit: 1,
            }),
          );
          return Items.length;
        }),
      );
      return counts.some((count) => count > 0);
    },

    async arqsOfProfile(name) {
      const keys = await Promise.all(
        shardsFor(name).map((shard) =>
          queryAll(client, {
            TableName: table,
            IndexName: 'by-profile',
            KeyConditionExpression: 'profile_shard = :shard',
            ExpressionAttributeValues: { ':shard': shard },
            ProjectionExpression: 'pk',
          }),
        ),
      );
      return keys.flat().length;
    },
  };
}
