import { createConsumerDeps } from '#core/consumer-deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { grantDeviceAction } from './devices/grant-device.ts';
import { resetDeviceAction } from './devices/reset-device.ts';
import { revokeDeviceAction } from './devices/revoke-device.ts';
import { checkImage } from './firmware/check-image.ts';
import { deleteBaselineAction } from './firmware/delete-baseline.ts';
import { getBaselines } from './firmware/get-baselines.ts';
import { getFirmware } from './firmware/get-firmware.ts';
import { setBaselineAction } from './firmware/set-baseline.ts';
import { getBinds } from './history/get-binds.ts';
import { getHistory } from './history/get-history.ts';
import { createHold } from './holds/create-hold.ts';
import { endHoldAction } from './holds/end-hold.ts';
import { getHold } from './holds/get-hold.ts';
import { getHolds } from './holds/get-holds.ts';
import { drainHostAction } from './hosts/drain-host.ts';
import { forgetHostAction } from './hosts/forget-host.ts';
import { getHost } from './hosts/get-host.ts';
import { getHosts } from './hosts/get-hosts.ts';
import { getTopology } from './hosts/get-topology.ts';
import { rediscoverHostAction } from './hosts/rediscover-host.ts';
import { resumeHostAction } from './hosts/resume-host.ts';
import { settleHostAction } from './hosts/settle-host.ts';
import { getIncidents } from './incidents/get-incidents.ts';
import { getAggregates } from './names/get-aggregates.ts';
import { getNames } from './names/get-names.ts';
import { disableProfileAction } from './profiles/disable-profile.ts';
import { enableProfileAction } from './profiles/enable-profile.ts';
import { getProfile } from './profiles/get-profile.ts';
import { getProfiles } from './profiles/get-profiles.ts';
import { updateProfileAction } from './profiles/update-profile.ts';
import { deleteQuotaAction } from './quotas/delete-quota.ts';
import { getQuota } from './quotas/get-quota.ts';
import { getQuotas } from './quotas/get-quotas.ts';
import { setQuotaAction } from './quotas/set-quota.ts';
import { reapAction } from './reap.ts';
import { reconcileAction } from './reconcile.ts';
import { getAssignments } from './use/get-assignments.ts';
import { getCapacity } from './use/get-capacity.ts';
import { getMetrics } from './use/get-metrics.ts';
import { getReport } from './use/get-report.ts';
import { getUsage } from './use/get-usage.ts';

export const actions = {
  'get-hosts': getHosts,
  'get-host': getHost,
  'get-topology': getTopology,
  'get-history': getHistory,
  'get-binds': getBinds,
  'get-usage': getUsage,
  'get-metrics': getMetrics,
  'get-report': getReport,
  'forget-host': forgetHostAction,
  'rediscover-host': rediscoverHostAction,
  'drain-host': drainHostAction,
  'resume-host': resumeHostAction,
  'settle-host': settleHostAction,
  'get-assignments': getAssignments,
  'get-capacity': getCapacity,
  'get-names': getNames,
  'get-aggregates': getAggregates,
  'get-incidents': getIncidents,
  'reset-device': resetDeviceAction,
  'grant-device': grantDeviceAction,
  'revoke-device': revokeDeviceAction,
  'get-firmware': getFirmware,
  'check-image': checkImage,
  'get-baselines': getBaselines,
  'set-baseline': setBaselineAction,
  'delete-baseline': deleteBaselineAction,
  'get-holds': getHolds,
  'get-hold': getHold,
  'create-hold': createHold,
  'end-hold': endHoldAction,
  'get-profiles': getProfiles,
  'get-profile': getProfile,
  'update-profile': updateProfileAction,
  'enable-profile': enableProfileAction,
  'disable-profile': disableProfileAction,
  reconcile: reconcileAction,
  reap: reapAction,
  'get-quotas': getQuotas,
  'get-quota': getQuota,
  'set-quota': setQuotaAction,
  'delete-quota': deleteQuotaAction,
};

/** Operators ask hosts and Placement, as consumers do. */
export const handler = resourceHandler('operator', actions, () => createConsumerDeps('operator'));
