// The shape of a row of each list.

import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { deviceAnswer, holdAnswer } from '#core/contracts/api/devices.ts';
import { recordAnswer, usageRow } from '#core/contracts/api/history.ts';
import { hostAnswer } from '#core/contracts/api/operator/hosts.ts';
import { incidentAnswer } from '#core/contracts/api/operator/incidents.ts';
import { assignmentAnswer, quotaAnswer } from '#core/contracts/api/operator/use.ts';
import { baselineAnswer, firmwareAnswer } from '#core/contracts/api/programs.ts';

export const rowShapes = {
  hosts: hostAnswer,
  devices: deviceAnswer,
  assignments: assignmentAnswer,
  history: recordAnswer,
  usage: usageRow,
  incidents: incidentAnswer,
  quotas: quotaAnswer,
  profiles: operatorProfile,
  firmware: firmwareAnswer,
  baselines: baselineAnswer,
  holds: holdAnswer,
};
