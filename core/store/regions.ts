// What a region of an FPGA holds, as far as it is known.

import type { ProviderUuid } from '../domain/ids.ts';
import type { Documents } from './documents.ts';
import { deployableKey } from './rows.ts';
import { updateIf } from './writes.ts';

export interface RegionStore {
  /** What the region holds is unknown from now on, until its host reports it anew. */
  forgetFunction(provider: ProviderUuid): Promise<void>;
}

export function regionStore(client: Documents, table: string): RegionStore {
  return {
    async forgetFunction(provider) {
      await updateIf(client, {
        TableName: table,
        Key: deployableKey(provider),
        UpdateExpression: 'REMOVE deployable.bitstreamId, deployable.functionUuid',
        ConditionExpression: 'attribute_exists(pk)',
      });
    },
  };
}
