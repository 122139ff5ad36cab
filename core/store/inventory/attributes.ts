// Attributes that operators add are fields of their deployable's row. A report of the host leaves
// them unchanged; they are deleted with the row.

import { type Attribute, attributesPerDeployableMax } from '#core/domain/device/attribute.ts';
import type { Deployable } from '#core/domain/device/device.ts';
import { attributeField, attributeValue } from '#core/store/rows/inventory-rows.ts';
import { deployableKey } from '#core/store/rows/rows.ts';
import { putMember, removeMember } from '#core/store/table/bounded-set.ts';
import type { Documents } from '#core/store/table/documents.ts';

export interface AttributeStore {
  /** `absent` if the deployable is gone, `full` if it has the largest number of attributes. */
  add(deployable: Deployable, attribute: Attribute): Promise<'stored' | 'full' | 'absent'>;
  /** False if the attribute does not exist. */
  remove(deployable: Deployable, uuid: string): Promise<boolean>;
}

export function attributeStore(client: Documents, table: string): AttributeStore {
  const setOf = ({ providerUuid }: Deployable) => ({
    table,
    Key: deployableKey(providerUuid),
    prefix: attributeField(''),
    count: 'attribute_count',
    max: attributesPerDeployableMax,
  });
  return {
    add: (deployable, attribute) =>
      putMember(
        client,
        setOf(deployable),
        attributeField(attribute.uuid),
        attributeValue(attribute),
        { isInRow: true },
      ),
    remove: (deployable, uuid) => removeMember(client, setOf(deployable), attributeField(uuid)),
  };
}
