import { createConsumerDeps } from '#core/consumer-deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { deleteQuotaAction } from './delete-quota.ts';
import { drainHostAction } from './drain-host.ts';
import { forgetHostAction } from './forget-host.ts';
import { getAssignments } from './get-assignments.ts';
import { getCapacity } from './get-capacity.ts';
import { getHistory } from './get-history.ts';
import { getHost } from './get-host.ts';
import { getHosts } from './get-hosts.ts';
import { getIncidents } from './get-incidents.ts';
import { getQuota } from './get-quota.ts';
import { getQuotas } from './get-quotas.ts';
import { getUsage } from './get-usage.ts';
import { reapAction } from './reap.ts';
import { reconcileAction } from './reconcile.ts';
import { rediscoverHostAction } from './rediscover-host.ts';
import { resumeHostAction } from './resume-host.ts';
import { setQuotaAction } from './set-quota.ts';
import { settleHostAction } from './settle-host.ts';

export const actions = {
  'get-hosts': getHosts,
  'get-host': getHost,
  'get-history': getHistory,
  'get-usage': getUsage,
  'forget-host': forgetHostAction,
  'rediscover-host': rediscoverHostAction,
  'drain-host': drainHostAction,
  'resume-host': resumeHostAction,
  'settle-host': settleHostAction,
  'get-assignments': getAssignments,
  'get-capacity': getCapacity,
  'get-incidents': getIncidents,
  reconcile: reconcileAction,
  reap: reapAction,
  'get-quotas': getQuotas,
  'get-quota': getQuota,
  'set-quota': setQuotaAction,
  'delete-quota': deleteQuotaAction,
};

/** Operators ask hosts and Placement, as consumers do. */
export const handler = resourceHandler('operator', actions, () => createConsumerDeps('operator'));
