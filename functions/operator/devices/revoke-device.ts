import * as z from 'zod';
import { grantsAnswer } from '#core/contracts/api/devices.ts';
import { revokePrograms } from '#core/operations/devices/grant-programs.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { action } from '#functions/http/action.ts';
import { projectId } from '#functions/operator/page.ts';

const body = z.strictObject({ project_id: projectId });

export const revokeDeviceAction = action(
  { body, answers: { 200: grantsAnswer }, refuses: [404] },
  async ({ deps, id, body: { project_id: project }, about }) => {
    about({ project });
    const { device, grants } = await revokePrograms(deps, id, project);
    return { body: toWire(grantsAnswer, { deviceUuid: device.uuid, grants }) };
  },
);
