import * as z from 'zod';
import { deployablesAnswer } from '#core/contracts/api/deployables.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { pageQuery, toPage, uuidPage } from '#functions/http/request/query.ts';
import { viewDeployable } from './view.ts';

export const getAll = action(
  { query: z.strictObject(pageQuery), answers: { 200: deployablesAnswer } },
  async ({ deps, caller, query, base }) => {
    const seesUsers = isOperator(deps, caller);
    const deployables = await deps.listings.deployables(toPage(query));
    const rows = deployables.map((deployable) => viewDeployable(deployable, base, seesUsers));
    return { body: uuidPage('deployables', rows, { base, path: '/deployables', query }) };
  },
);
