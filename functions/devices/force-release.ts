import * as z from 'zod';
import { findDevice } from '#core/operations/find-by-id.ts';
import { forceRelease } from '#core/operations/force-release.ts';
import { action } from '../http/action.ts';
import { noQuery } from '../http/query.ts';
import { freedAnswer } from './answer.ts';

const forceReleaseBody = z.strictObject({ reason: z.string().max(1024).optional() }).optional();

/** Not Cyborg's: there nothing is in quarantine. */
export const forceReleaseAction = action(
  { query: noQuery, body: forceReleaseBody, answers: { 200: freedAnswer }, refuses: [404] },
  async ({ deps, caller, id, body }) => {
    const device = await findDevice(deps, id);
    const attach_handles = await forceRelease(deps, caller, device, body?.reason);
    return { body: { device_uuid: device.uuid, attach_handles } };
  },
);
