// Attributes that operators add are fields of their deployable's row. A report of the host leaves
// them unchanged; they are deleted with the row.

import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { type Attribute, attributesPerDeployableMax } from '#core/domain/device/attribute.ts';
import type { Deployable } from '#core/domain/device/device.ts';
import { attributeField, attributeValue } from '#core/store/rows/inventory-rows.ts';
import { deployableKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { held } from '#core/store/table/writes.ts';

export interface AttributeStore {
  /** False if the deployable is gone, or already has the largest number of attributes. */
  add(deployable: Deployable, attribute: Attribute): Promise<boolean>;
  /** False if the attribute does not exist. */
  remove(deployable: Deployable, uuid: string): Promise<boolean>;
}

export function attributeStore(client: Documents, table: string): AttributeStore {
  return {
    add: (deployable, attribute) =>
      held(
        client.send(
          new UpdateCommand({
            TableName: table,
            Key: deployableKey(deployable.providerUuid),
            UpdateExpression: 'SET #field = :attribute ADD attribute_count :one',
            ConditionExpression:
              'attribute_exists(pk) AND attribute_not_exists(#field) AND ' +
              '(attribute_not_exists(attribute_count) OR attribute_count < :max)',
            ExpressionAttributeNames: { '#field': attributeField(attribute.uuid) },
            ExpressionAttributeValues: {
              ':attribute': attributeValue(attribute),
              ':one': 1,
              ':max': attributesPerDeployableMax,
            },
          }),
        ),
      ),

    remove: (deployable, uuid) =>
      held(
        client.send(
          new UpdateCommand({
            TableName: table,
            Key: deployableKey(deployable.providerUuid),
            UpdateExpression: 'REMOVE #field ADD attribute_count :less',
            ConditionExpression: 'attribute_exists(#field)',
            ExpressionAttributeNames: { '#field': attributeField(uuid) },
            ExpressionAttributeValues: { ':less': -1 },
          }),
        ),
      ),
  };
}
