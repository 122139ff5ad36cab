import { resumedAnswer } from '#core/contracts/api/operator/hosts.ts';
import { resumeHost } from '#core/operations/hosts/drain-host.ts';
import { action } from '#functions/http/action.ts';

export const resumeHostAction = action(
  { answers: { 200: resumedAnswer }, refuses: [404, 409] },
  async ({ deps, caller, id }) => {
    const devices = await resumeHost(deps, caller, id);
    return { body: { hostname: id, devices: devices.map(({ uuid }) => uuid) } };
  },
);
