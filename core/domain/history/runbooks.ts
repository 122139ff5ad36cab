import type { IncidentKind } from './incidents.ts';

/** Sections of docs/operations.md. */
export const runbooks: { readonly [Kind in IncidentKind]?: string } = {
  'failed-bind': 'binds-fail',
  'stuck-job': 'sweep-fails',
  quarantine: 'handles-quarantined',
  'cleanings-paused': 'cleanings-paused',
  conflict: 'reports-in-conflict',
  'offered-twice': 'devices-offered-twice',
  'host-away': 'a-host-that-is-away',
  'lost-providers': 'trees-in-placement',
  'unhealthy-device': 'unhealthy-devices',
  'device-not-attached': 'a-server-without-its-device',
  'moved-card': 'a-card-that-moved',
  'firmware-differs': 'firmware-of-many-devices',
  'awaits-power-cycle': 'images-of-shells-and-firmware',
  'reaper-waits': 'reaper-refuses',
};
