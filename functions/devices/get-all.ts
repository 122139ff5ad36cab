import * as z from 'zod';
import { devicesAnswer } from '#core/contracts/api/devices.ts';
import { present } from '#core/shapes/derive/present.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { pageQuery, tenantBudget, toPage, uuidPage } from '#functions/http/request/query.ts';
import { viewDevice } from './view.ts';

const listQuery = z.strictObject({
  hostname: z.string().max(255).optional(),
  type: z.string().max(255).optional(),
  vendor: z.string().max(255).optional(),
  ...pageQuery,
});

export const getAll = action(
  { query: listQuery, answers: { 200: devicesAnswer } },
  async ({ deps, caller, query, base }) => {
    const { hostname, type, vendor } = query;
    const filter = present({ hostname, type, vendor });
    const seesUsers = isOperator(deps, caller);
    const budget = seesUsers ? undefined : tenantBudget;
    const { devices, readTo } = await deps.listings.devices(toPage(query), filter, budget);
    const rows = devices.map((device) => viewDevice(device, base, seesUsers));
    return { body: uuidPage('devices', rows, { base, path: '/devices', query, readTo }) };
  },
);
