// Servers that start while the agent of their host comes back after a boot.

import { boot, inTurn, loseImages, reboot } from '#simulation/world/acts.ts';
import type { World } from '#simulation/world/world.ts';
import type { Operation } from './operations.ts';

/** nova-compute starts before the agent, and lists the ARQs of its servers. */
function startServers({ nova }: World): void {
  for (const server of nova.servers) if (server.status === 'ACTIVE') void nova.hardReboot(server);
}

/** The host is down for 2 s; then its agent connects. */
const startAfterBoot = inTurn(
  inTurn(reboot, 2000, startServers),
  500,
  inTurn(startServers, 2000, startServers),
);

export const startOperations: Readonly<Record<string, Operation>> = {
  'start servers while their host boots': {
    about: ['host', 'instance'],
    prepare: inTurn(boot('all'), 30_000, loseImages),
    prepareMs: 31_000,
    act: startAfterBoot,
  },
  'start servers while their host boots, first report late': {
    about: ['host', 'instance'],
    prepare: inTurn(boot('all'), 30_000, loseImages),
    prepareMs: 31_000,
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB', 8000);
      startAfterBoot(world);
    },
  },
};
