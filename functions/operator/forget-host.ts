import { forgetHost } from '#core/operations/inventory/forget-host.ts';
import { action } from '../http/action.ts';
import { noQuery } from '../http/query.ts';

/** The host's thing in AWS IoT stays: the agent could connect again. */
export const forgetHostAction = action(
  { query: noQuery, answers: { 204: null }, refuses: [404, 409] },
  async ({ deps, caller, id }) => {
    await forgetHost(deps, caller, id);
    return {};
  },
);
