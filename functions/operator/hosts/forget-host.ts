import { forgetHost } from '#core/operations/hosts/forget-host.ts';
import { action } from '#functions/http/action.ts';

/** The host's thing in AWS IoT stays: the agent could connect again. */
export const forgetHostAction = action(
  { answers: { 204: null }, refuses: [404, 409] },
  async ({ deps, caller, id }) => {
    await forgetHost(deps, caller, id);
    return {};
  },
);
