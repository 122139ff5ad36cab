import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import {
  type Attribute,
  attributesOf,
  attributesPerDeployableMax,
  attributeUuid,
  deployablePrefix,
} from '#core/domain/device/attribute.ts';
import type { Deployable } from '#core/domain/device/device.ts';
import {
  AttributeIsReported,
  AttributeNotFound,
  DeployableNotFound,
  TooManyAttributes,
} from '#core/domain/errors.ts';
import { timeNow } from '../time-now.ts';
import { findDeployable } from './find-by-id.ts';

/**
 * Adds an attribute to a deployable. Placement does not learn of it.
 *
 * @param deployableId uuid, or the integer that listings show
 * @throws DeployableNotFound, TooManyAttributes
 */
export async function addAttribute(
  deps: Deps,
  caller: Caller,
  deployableId: string,
  entry: { readonly key: string; readonly value: string },
): Promise<Attribute> {
  const deployable = await findDeployable(deps, deployableId);
  const attribute: Attribute = {
    uuid: attributeUuid(deployable.uuid, deps.randomBytes(10)),
    deployableUuid: deployable.uuid,
    ...entry,
    isReported: false,
    createdAt: timeNow(deps),
  };
  const outcome = await deps.store.attributes.add(deployable, attribute);
  if (outcome === 'absent') throw new DeployableNotFound(deployableId);
  if (outcome === 'full') throw new TooManyAttributes(deployable.uuid, attributesPerDeployableMax);
  deps.log.info('Attribute added', { attribute, by: caller.userId });
  return attribute;
}

/** @throws AttributeNotFound; AttributeIsReported for what would come back with the next report */
export async function deleteAttribute(deps: Deps, caller: Caller, uuid: string): Promise<void> {
  const { attribute, deployable } = await findAttribute(deps, uuid);
  if (attribute.isReported) throw new AttributeIsReported(uuid);
  if (!(await deps.store.attributes.remove(deployable, attribute.uuid))) {
    throw new AttributeNotFound(uuid);
  }
  deps.log.info('Attribute deleted', { attribute, by: caller.userId });
}

/** @throws AttributeNotFound */
export async function findAttribute(
  deps: Deps,
  uuid: string,
): Promise<{ readonly attribute: Attribute; readonly deployable: Deployable }> {
  const lowerCase = uuid.toLowerCase();
  const listed = await deps.listings.deployablesByPrefix(deployablePrefix(lowerCase));
  for (const { providerUuid } of listed) {
    // The index names the deployables; their rows are read from the table.
    const deployable = (await deps.store.inventory.provider(providerUuid))?.deployable;
    const attribute =
      deployable && attributesOf(deployable).find((each) => each.uuid === lowerCase);
    if (attribute) return { attribute, deployable };
  }
  throw new AttributeNotFound(uuid);
}
