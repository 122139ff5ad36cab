import { DeviceNotFound } from '#core/domain/errors.ts';
import { action } from '../http/action.ts';
import { noQuery } from '../http/query.ts';
import { viewDevice } from './view.ts';

export const getOne = action({ query: noQuery }, async ({ deps, id, base, microversion }) => {
  const device = await deps.listings.deviceByUuid(id.toLowerCase());
  if (!device) throw new DeviceNotFound(id);
  return { body: viewDevice(device, base, microversion) };
});
