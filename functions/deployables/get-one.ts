import { DeployableNotFound, InvalidInput } from '#core/domain/errors.ts';
import { isUuid } from '#core/domain/ids.ts';
import { action } from '../http/action.ts';
import { noQuery } from '../http/query.ts';
import { viewDeployable } from './view.ts';

export const getOne = action({ query: noQuery }, async ({ deps, id, base }) => {
  if (!isUuid(id)) throw new InvalidInput(`${JSON.stringify(id)} is not the uuid of a deployable.`);
  const deployable = await deps.listings.deployableByUuid(id.toLowerCase());
  if (!deployable) throw new DeployableNotFound(id);
  return { body: viewDeployable(deployable, base) };
});
