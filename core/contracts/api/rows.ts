// The shape of a row of each list.

import { operatorProfile } from './device-profiles.ts';
import { deviceAnswer, holdAnswer } from './devices.ts';
import { recordAnswer, usageRow } from './history.ts';
import { assignmentAnswer, hostAnswer, incidentAnswer, quotaAnswer } from './operator.ts';
import { baselineAnswer, firmwareAnswer } from './programs.ts';

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
