import * as z from 'zod';
import { grantsAnswer } from '#core/contracts/api/devices.ts';
import { grantPrograms } from '#core/operations/devices/grant-programs.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { action } from '#functions/http/action.ts';
import { projectId } from '#functions/operator/page.ts';
import { checkProjects } from '#functions/operator/projects.ts';
import { futureTime } from '#functions/operator/range.ts';

const body = z.strictObject({
  project_id: projectId,
  until: z.iso.datetime({ offset: true }).meta({ description: 'when the right ends' }),
});

export const grantDeviceAction = action(
  { body, answers: { 200: grantsAnswer }, refuses: [404] },
  async ({ deps, caller, id, body: { project_id: project, until }, about }) => {
    about({ project, until });
    const right = { projectId: project, until: futureTime('until', until, deps.clock()) };
    await checkProjects(deps, [project]);
    const { device, grants } = await grantPrograms(deps, caller, id, right);
    return { body: toWire(grantsAnswer, { deviceUuid: device.uuid, grants }) };
  },
);
