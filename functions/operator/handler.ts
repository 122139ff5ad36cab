import { resourceHandler } from '../http/resource-handler.ts';
import { deleteQuotaAction } from './delete-quota.ts';
import { getHost } from './get-host.ts';
import { getHosts } from './get-hosts.ts';
import { getQuota } from './get-quota.ts';
import { getQuotas } from './get-quotas.ts';
import { setQuotaAction } from './set-quota.ts';

export const actions = {
  'get-hosts': getHosts,
  'get-host': getHost,
  'get-quotas': getQuotas,
  'get-quota': getQuota,
  'set-quota': setQuotaAction,
  'delete-quota': deleteQuotaAction,
};

export const handler = resourceHandler('operator', actions);
