// What people read for a field of an answer: a column of cyborg-ops, a property in the console. A
// field without a title does not compile. Without zod at run time, for the console's page.

import type * as z from 'zod';
import type { notOffered } from '#core/shapes/host.ts';
import type { deviceAnswer } from './devices.ts';
import type { hostAnswer, hostDevice } from './operator.ts';

type TitlesOf<Answer extends z.ZodObject> = Readonly<
  Record<Exclude<keyof z.output<Answer>, 'links'>, string>
>;

export const deviceTitles: TitlesOf<typeof deviceAnswer> = {
  uuid: 'device',
  hostname: 'host',
  type: 'type',
  vendor: 'vendor',
  model: 'model',
  status: 'status',
  reason: 'reason',
  status_changed_by: 'set by',
  status_changed_at: 'set at',
  std_board_info: 'board',
  vendor_board_info: "vendor's board",
  created_at: 'created',
  updated_at: 'updated',
};

export const hostTitles: TitlesOf<typeof hostAnswer> = {
  hostname: 'host',
  state: 'state',
  state_since: 'since',
  agent_version: 'agent',
  last_report_at: 'last report',
  devices: 'devices',
  not_offered: 'not offered',
  clock_ahead_seconds: 'clock ahead, s',
  drained: 'drained',
  paused: 'paused',
  boot_id: 'boot',
  failed_drivers: 'drivers failed',
};

export const hostDeviceTitles: TitlesOf<typeof hostDevice> = {
  uuid: 'device',
  address: 'address',
  type: 'type',
  driver: 'driver',
  model: 'model',
  status: 'status',
  reason: 'reason',
  handles: 'handles',
  health: 'health',
};

export const notOfferedTitles: TitlesOf<typeof notOffered> = {
  address: 'not offered',
  driver: 'driver',
  reason: 'reason',
};

export function without<Name extends string, Left extends Name>(
  titles: Readonly<Record<Name, string>>,
  ...names: readonly Left[]
): Readonly<Record<Exclude<Name, Left>, string>> {
  const others = Object.entries(titles).filter(([name]) => !names.includes(name as Left));
  return Object.fromEntries(others) as Record<Exclude<Name, Left>, string>;
}
