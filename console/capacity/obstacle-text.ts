// Why attach handles serve no further server, in words.

import type { HostCapacity } from '#console/api/answers.ts';

type Obstacle = HostCapacity['stopped_by'][number]['reason'];

const texts: Readonly<Partial<Record<Obstacle, string>>> = {
  claimed: 'belong to an ARQ',
  cleaning: 'are cleaned after their last holder',
  quarantined: 'are withheld: their host did not confirm the cleaning',
  restored: 'are withheld after a restore',
  gone: 'are no longer reported',
  trait: 'lack a required trait, or have a forbidden one',
  'attach-type': "cannot be attached as the host's hypervisor can",
  attribute: 'have another attribute than a group asks for',
  region: 'cannot be programmed for another server',
  disabled: 'belong to a disabled device',
  'on-hold': 'belong to a device on hold',
  unhealthy: 'belong to an unhealthy device',
  'host-conflict': 'are on a host as which two agents report',
  'offered-twice': 'belong to a device that another service offers, too',
  'host-away': 'are on a host that is away',
  'host-paused': 'need their host, which failed its jobs',
  apart: 'are free, but not together in their pool',
  remainder: 'are free, but too few on one provider or host',
};

export function obstacleText(reason: Obstacle): string {
  return texts[reason] ?? reason;
}
